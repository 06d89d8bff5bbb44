"""HoVer from the real claims with invented pages, and from hand-made claims; the pinned database is not at hand."""

import sqlite3
from collections import Counter
from contextlib import closing
from unicodedata import normalize

import orjson
import pytest
from added_examples import assert_example, example
from recipe_sources import real_files, write_json

from suite_builder.catalog import benchmarks
from suite_builder.freeze import added_lines
from suite_builder.recipes import hover
from suite_builder.rows import frozen_json
from suite_builder.tokens import cl100k_counter

CLAIMS, DOCUMENTS = "data/hover/hover_dev_release_v1.1.json", "wiki_wo_links.db"
CLAIM = {
    "uid": "u-1", "claim": "Bé is north of A.", "supporting_facts": [["Bé", 2], ["A", 0], ["Bé", 0]],
    "label": "SUPPORTED", "num_hops": 2, "hpqa_id": "h",
}
PAGES = [("A", " A is far.\n"), (normalize("NFD", "Bé"), "Bé is near."), ("Unused", "x")]


def write_pages(path, pages, table="CREATE TABLE documents (id PRIMARY KEY, text)"):
    with closing(sqlite3.connect(path)) as database:
        database.execute(table)
        database.executemany("INSERT INTO documents VALUES (?, ?)", pages)
        database.commit()
    return path


def sources(folder, claims, pages):
    return {CLAIMS: write_json(folder / "c.json", claims), DOCUMENTS: write_pages(folder / "a #?%.db", pages)}


def test_the_published_example_gives_its_line(tmp_path):
    given = example(61)["input"]
    pages = [(page["id"], page["text"]) for page in given["documents"]]
    assert_example(hover, sources(tmp_path, [given["claim"]], pages))


def test_the_published_example_has_its_tokens(shared):
    count = cl100k_counter(shared / "sources" / "2" / "cl100k_base.tiktoken")
    [line] = example(61)["lines"]
    row = orjson.loads(line)
    del row["_evaluation"]
    assert list(added_lines(benchmarks()[61], [row], count)) == [line.removesuffix("\n")]


def test_row_in_full(tmp_path):
    [row] = hover.rows(sources(tmp_path, [CLAIM], PAGES))
    assert frozen_json(row) == (
        '{"id":"61:u-1","benchmark":"HoVer claim verification","family":"HoVer claim verification",'
        '"split":"evaluation","state":{"claim":"Bé is north of A.","evidence":[{"title":"Bé","text":"Bé is near."},'
        '{"title":"A","text":" A is far.\\n"}]},"questions":{"q":{"type":"choice","instructions":"Is the claim '
        'supported by the evidence?","criteria":{"SUPPORTED":"The evidence supports the claim.","NOT_SUPPORTED":"The '
        'evidence does not support the claim."}}},"expected":{"q":"SUPPORTED"},"metadata":{"source_id":"u-1",'
        '"group_id":"61:u-1",'
        '"track":"2-hop","num_hops":2,"supporting_facts":[["Bé",2],["A",0],["Bé",0]],"hpqa_id":"h"},'
        '"scoring":{"type":"candidate_decisions","primary_field":"q"}}'
    )


def test_real_claims_have_the_published_counts(shared, tmp_path):
    files = real_files(shared, 61)
    claims = orjson.loads(files[CLAIMS].read_bytes())
    titles = {title for claim in claims for title, _sentence in claim["supporting_facts"]}
    decomposed = {normalize("NFD", title) for title in titles}
    assert (len(titles), len(titles - decomposed)) == (4475, 93)
    pages = write_pages(tmp_path / "pages.db", [(title, f"About {title}") for title in decomposed])
    rows = list(hover.rows({**files, DOCUMENTS: pages}))
    assert [row["metadata"]["source_id"] for row in rows] == [claim["uid"] for claim in claims]
    assert Counter(row["expected"]["q"] for row in rows) == {"SUPPORTED": 2000, "NOT_SUPPORTED": 2000}
    assert Counter(row["metadata"]["track"] for row in rows) == {"2-hop": 1126, "3-hop": 1835, "4-hop": 1039}
    for row in rows:
        evidence = row["state"]["evidence"]
        assert len(evidence) == row["metadata"]["num_hops"]
        assert all(page["text"] == f"About {normalize('NFD', page['title'])}" for page in evidence)


def test_a_page_that_is_missing_or_there_twice_is_named(tmp_path):
    claims = [CLAIM, CLAIM | {"supporting_facts": [["Zoo", 0], ["Cé", 0]]}]
    with pytest.raises(ValueError, match=f"^{DOCUMENTS}: 2 pages are missing, the first is 'Cé'$"):
        list(hover.rows(sources(tmp_path, claims, PAGES)))
    twice = write_pages(tmp_path / "twice.db", [*PAGES, PAGES[0]], "CREATE TABLE documents (id, text)")
    with pytest.raises(ValueError, match=f"^{DOCUMENTS}: a second page 'A'$"):
        list(hover.rows({CLAIMS: tmp_path / "c.json", DOCUMENTS: twice}))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"label": "REFUTED"}, "label 'REFUTED'"), ({"supporting_facts": [["A"]]}, "not enough values"),
        ({"supporting_facts": None}, "'NoneType' object is not iterable"),
    ],
)
def test_a_malformed_claim_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^{CLAIMS}, record 1: {message}"):
        list(hover.rows(sources(tmp_path, [CLAIM, CLAIM | change], PAGES)))


@pytest.mark.parametrize("key", ["uid", "claim", "hpqa_id", "num_hops", "label", "supporting_facts"])
def test_a_claim_without_a_key_is_named(tmp_path, key):
    with pytest.raises(ValueError, match=f"^{CLAIMS}, record 0: '{key}' is missing$"):
        list(hover.rows(sources(tmp_path, [{k: value for k, value in CLAIM.items() if k != key}], PAGES)))


def test_what_is_no_such_database_is_named(tmp_path):
    files = sources(tmp_path, [CLAIM], PAGES)
    with closing(sqlite3.connect(tmp_path / "other.db")) as database:
        database.execute("CREATE TABLE pages (id, text)")
    with pytest.raises(ValueError, match=f"^{DOCUMENTS}: no such table: documents$"):
        list(hover.rows({**files, DOCUMENTS: tmp_path / "other.db"}))
    with pytest.raises(ValueError, match=f"^{DOCUMENTS}: file is not a database$"):
        list(hover.rows({**files, DOCUMENTS: files[CLAIMS]}))
