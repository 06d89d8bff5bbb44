"""BRIGHT from hand-made Parquet files in the form of the pinned ones, which are not at hand."""

import hashlib

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import bright
from suite_builder.recipes.common import SORTED
from suite_builder.sources import sources

SUFFIX = "-00000-of-00001.parquet"
BIOLOGY_SHA256 = "6e105c4f09d9a70b8a20ed6a4d0e386823a5545151df41b3f0e64eb5c5987829"
EXAMPLE = {
    "query": "Why do cats purr?", "reasoning": "unused", "id": "0", "excluded_ids": ["N/A"], "gold_ids": ["cats/2.txt"],
    "gold_ids_long": ["unused"], "gold_answer": "unused",
}


@pytest.fixture(autouse=True)
def one_token_a_character(monkeypatch):
    """The real tokenizer's rank file is not part of the project."""
    monkeypatch.setattr(bright, "cl100k_counter", lambda _file: len)


def sources_of(folder, corpora, examples):
    files = {"cl100k_base.tiktoken": folder / "unused"}
    for domain, corpus in corpora.items():
        records = [{"id": docid, "content": text} for docid, text in corpus.items()]
        files[f"documents/{domain}{SUFFIX}"] = write_parquet(folder / f"{domain}-documents", records)
        path = f"examples/{domain}{SUFFIX}"
        files[path] = write_parquet(folder / f"{domain}-examples", examples.get(domain, [EXAMPLE]))
    return files


def build(folder, corpora, **examples):
    return [row for _track, row in bright.rows(sources_of(folder, corpora, examples))]


def test_row_in_full(tmp_path):
    [(track, row)] = bright.rows(sources_of(tmp_path, {"biology": {"cats/2.txt": "A cat purrs.\té"}}, {}))
    assert track == "BRIGHT-retrieval"
    assert SORTED(row) == (
        '{"expected":{"doc_0":"yes"},"family":"BRIGHT-retrieval","id":"BRIGHT-retrieval:biology:0:chunk0",'
        '"metadata":{"candidate_count":1,"category":"biology","context_estimator":"cl100k_base;31Kstate+field/60Ktotal;'
        ' fulltext only","context_omitted_ids":[],"corpus_index":"bright_biology","domain":"biology",'
        '"group_id":"biology:0","protocol":"Null means unjudged, never score as verified-negative classification. For '
        'conventional ranking metrics only, unjudged relevance=0. No gold insertion.",'
        f'"source":"artifacts/benchmark-suite/raw/bright/examples/biology{SUFFIX}",'
        f'"source_sha256":"{BIOLOGY_SHA256}"}},'
        '"questions":{"doc_0":{"criteria":{"no":"Not relevant/useful to the query.","yes":"Relevant/useful to the '
        'query."},"instructions":{"candidate":"A cat purrs.\\t\\u00e9","task":"Assess whether this candidate is '
        'relevant/useful to the query. Use the full text below; return the probability of relevance."},'
        '"type":"choice"}},'
        '"scoring":{"candidate_recall":1.0,"combine_chunks_by":"metadata.group_id","field_to_document":{"doc_0":'
        '"cats/2.txt"},"qrels":{"cats/2.txt":1},"retrieved_ids":["cats/2.txt"],"scorable_ids":["cats/2.txt"],'
        '"scorer":"evaluation.adapters.retrieval_ranking:score_query","type":"retrieval_ranking"},'
        '"split":"evaluation-only","state":{"query":"Why do cats purr?",'
        '"task":"Rank candidate documents/tools by relevance to this query."}}'
    )


def test_domains_come_by_name_and_have_their_own_documents(tmp_path):
    examples = [EXAMPLE | {"id": "9"}, EXAMPLE | {"id": "10"}]
    rows = build(tmp_path, {"pony": {"p": "x"}, "aops": {"a": "x"}}, aops=examples)
    assert [row["metadata"]["group_id"] for row in rows] == ["aops:9", "aops:10", "pony:0"]
    assert [row["scoring"]["retrieved_ids"] for row in rows] == [["a"], ["a"], ["p"]]


def test_a_file_without_a_published_sha256_is_named_by_its_own(tmp_path):
    files = sources_of(tmp_path, {"leetcode": {"a": "x"}}, {})
    [(_track, row)] = bright.rows(files)
    content = files[f"examples/leetcode{SUFFIX}"].read_bytes()
    assert row["metadata"]["source_sha256"] == hashlib.sha256(content).hexdigest()


def test_excluded_documents_are_neither_found_nor_filled_up(tmp_path):
    corpus = {f"d{n}": "cats purr" if n % 2 else "else" for n in range(10)}
    examples = [
        EXAMPLE | {"excluded_ids": ["d1", "d1", "d4"], "gold_ids": ["d3", "x"]},
        EXAMPLE | {"excluded_ids": [], "gold_ids": []},
        EXAMPLE | {"excluded_ids": None, "gold_ids": ["d0"]},
    ]
    first, second, third = build(tmp_path, {"pony": corpus}, pony=examples)
    assert first["scoring"]["retrieved_ids"] == ["d3", "d5", "d7", "d9", "d0", "d2", "d6", "d8"]
    assert (first["scoring"]["candidate_recall"], first["expected"]["doc_0"]) == (0.5, "yes")
    whole = ["d1", "d3", "d5", "d7", "d9", "d0", "d2", "d4", "d6", "d8"]
    assert second["scoring"]["retrieved_ids"] == third["scoring"]["retrieved_ids"] == whole
    assert (second["scoring"]["candidate_recall"], second["scoring"]["qrels"]) == (None, {})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"gold_ids": ["a", None]}, "expected str, found None"),
        ({"gold_ids": None}, "must be an iterable"),
        ({"excluded_ids": ["a"], "gold_ids": ["a"]}, "document 'a' is both relevant and excluded"),
        ({"id": None}, "expected str, found None"),
    ],
)
def test_a_malformed_example_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^examples/pony{SUFFIX}, record 1: .*{message}"):
        build(tmp_path, {"pony": {"a": "x"}}, pony=[EXAMPLE, EXAMPLE | change])


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^examples/pony{SUFFIX}: no column excluded_ids$"):
        build(tmp_path, {"pony": {"a": "x"}}, pony=[{"id": "1", "query": "x", "gold_ids": ["a"]}])


def test_every_pinned_example_file_has_a_pinned_document_file():
    paths = {file.path for file in sources()[36][1].files}
    examples = {path for path in paths if path.startswith("examples/")}
    assert len(examples) == 12
    assert paths == examples | {path.replace("examples/", "documents/") for path in examples}
