"""Ranking against the worked example of the recipe text and against SQLite's own ranking; rows on made-up documents."""

import random
import sqlite3
from contextlib import closing

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes.common import SORTED
from suite_builder.retrieval import TASK, Corpus, Query, Task, chunks, documents, query_rows, recall, words
from suite_builder.tokens import cl100k_counter

# The made-up corpus of the recipe text.
EXAMPLE = {
    "b2": "weather forecast for a city",
    "b10": "weather forecast for a city",
    "a1": "Forecasting the weathers, daily",
    "c": "city map",
    "z": "unrelated text",
    "é": "naïve café",
    "m": "city city city bus",
}
QUESTION = "What is the weather in my city?"


@pytest.fixture
def corpus():
    with closing(Corpus(EXAMPLE.items())) as corpus:
        yield corpus


def ranking(corpus, text, excluded=()):
    return [corpus.docids[number] for number in corpus.candidates(text, excluded)]


@pytest.mark.parametrize(
    "text, excluded, found, ranked",
    [
        (QUESTION, (), ["weather", "city"], "a1 b10 b2 m c z é"),
        (QUESTION, ("b10", "N/A"), ["weather", "city"], "a1 b2 m c z é"),
        ("the", (), [], "a1 b10 b2 c m z é"),
        ("CAFE naive_forecast", (), ["cafe", "naive", "forecast"], "é a1 b10 b2 c m z"),
    ],
)
def test_words_and_ranking_of_the_worked_example(corpus, text, excluded, found, ranked):
    assert words(text) == found
    assert ranking(corpus, text, excluded) == ranked.split()


def test_scores_of_the_worked_example(corpus):
    scores = dict(zip(corpus.docids, corpus.scores(QUESTION).tolist(), strict=True))
    assert {docid: round(score, 6) for docid, score in scores.items()} == {
        "a1": -0.235273, "b10": -0.211634, "b2": -0.211634, "m": -0.000002, "c": -0.000001, "z": 0, "é": 0,
    }


def test_tokens_of_the_worked_example(shared):
    count = cl100k_counter(shared / "sources" / "2" / "cl100k_base.tiktoken")
    assert count(SORTED({"query": "Où est le café ☕?", "task": TASK})) == 34


def test_words_are_case_folded_runs_of_letters_and_digits_without_repeats():
    assert words("Straße_12 STRASSE 12, Ünder x-y THE My") == ["strasse", "12", "ünder", "x", "y"]


def sqlite_ranking(database, text, excluded):
    """What the recipe text asks of SQLite: all words in one query, then the lowest ids of all."""
    match = " OR ".join(f'"{word}"' for word in words(text))
    marks = ",".join("?" * len(excluded))
    sql = f"SELECT docid, bm25(docs) FROM docs WHERE docs MATCH ? AND docid NOT IN ({marks}) ORDER BY bm25(docs), docid"
    found = database.execute(f"{sql} LIMIT 32", (match, *excluded)).fetchall() if match else []
    taken = [docid for docid, _score in found]
    marks = ",".join("?" * len([*excluded, *taken]))
    rest = database.execute(f"SELECT docid FROM docs WHERE docid NOT IN ({marks}) ORDER BY docid", (*excluded, *taken))
    return [*taken, *(docid for (docid,) in rest)][:32], dict(found)


@pytest.mark.parametrize("seed", range(4))
def test_ranking_and_scores_are_those_of_sqlite_to_the_last_bit(seed):
    draw = random.Random(seed)
    stems = "walk jump mot naïv cit ß 12 café".split()
    vocabulary = [f"{stem}{end}" for stem in stems for end in ("", "s", "ing", "es")]
    vocabulary += ["the", "Ⅷ", "foo_bar", "a-b", "日本", "\u0301x"]
    texts = [" ".join(draw.choices(vocabulary, k=draw.randint(0, 9))) for _ in range(300)]
    corpus_of = {f"{draw.choice('aZé')}{number}": text for number, text in enumerate(texts)}
    with closing(Corpus(corpus_of.items())) as corpus, closing(sqlite3.connect(":memory:")) as database:
        database.execute('CREATE VIRTUAL TABLE docs USING fts5(docid UNINDEXED,content,tokenize="porter unicode61")')
        database.executemany("INSERT INTO docs VALUES (?, ?)", corpus_of.items())
        for _ in range(60):
            text = " ".join(draw.choices(vocabulary, k=draw.randint(0, 12)))
            excluded = draw.sample(list(corpus_of), draw.choice((0, 1, 40, 290)))
            ranked, scores = sqlite_ranking(database, text, excluded)
            assert ranking(corpus, text, excluded) == ranked
            mine = dict(zip(corpus.docids, corpus.scores(text).tolist(), strict=True))
            assert {docid: mine[docid] for docid in scores} == scores


def test_thousands_of_words_and_of_excluded_ids_are_no_problem():
    with closing(Corpus((f"d{number:05}", f"w{number} shared") for number in range(6000))) as corpus:
        text = " ".join(f"w{number}" for number in range(5000, 0, -1))
        excluded = {f"d{number:05}" for number in range(40_000) if number not in (7, 4999, 5500)}
        assert ranking(corpus, text, excluded) == ["d00007", "d04999", "d05500"]


def test_documents_are_checked_one_by_one(tmp_path):
    good = [{"id": "a", "content": " x\n"}, {"id": "b", "content": ""}]
    path = write_parquet(tmp_path / "d.parquet", good)
    assert list(documents("d", path, "content")) == [("a", " x\n"), ("b", "")]
    for record, problem in [({"id": "a", "content": "y"}, "a second document 'a'"), ({"id": "c"}, "expected str")]:
        with pytest.raises(ValueError, match=f"^d, record 2: {problem}"):
            list(documents("d", write_parquet(tmp_path / "d.parquet", [*good, record]), "content"))
    with pytest.raises(ValueError, match="^d: no column documentation$"):
        list(documents("d", path, "documentation"))


def test_a_document_cannot_be_relevant_and_excluded():
    with pytest.raises(ValueError, match="^document 'b' is both relevant and excluded$"):
        Query("1", "x", frozenset("ab"), frozenset("bc"))


@pytest.mark.parametrize(
    "state, tokens, cut",
    [
        (1000, [30_000, 30_001, 29_000, 1], [[0, 2], [3]]),  # 31,000 for a pair and 60,000 for a row still fit
        (10, [20_000] * 4, [[0, 1], [2, 3]]),
        (0, [20_000] * 4, [[0, 1, 2], [3]]),
        (31_000, [0, 1, 0], [[0, 2]]),
        (31_001, [0, 0], []),
        (5, [], []),
    ],
)
def test_candidates_are_cut_into_rows_in_rank_order(state, tokens, cut):
    assert list(chunks(state, tokens)) == cut


def test_recall_is_the_share_of_relevant_documents_found():
    assert recall(["a", "b"], {"b", "x", "y"}) == 1 / 3
    assert recall(["a", "b"], {"x"}) == 0.0
    assert recall(["a", "b"], ()) is None


TASK_OF_ROWS = Task("Made-up", "day", "sky", "made_up_sky", "raw/queries", "0" * 64)


def tokens_by_mark(text):
    """A count that is large where a text says so."""
    return 40_000 if "huge" in text else 25_000 if "large" in text else 10


def test_rows_of_a_query_leave_out_what_is_too_long_and_share_what_they_say_about_all_candidates():
    texts = {"a": "sun sun", "b": "sun huge", "c": "sun large", "d": "sun large é", "e": "moon large text", "f": "moon"}
    with closing(Corpus(texts.items())) as corpus:
        query = Query("q7", "Sun?", frozenset({"c", "f", "zz"}))
        assert ranking(corpus, query.text) == ["a", "b", "c", "d", "e", "f"]
        first, second = query_rows(TASK_OF_ROWS, query, corpus, tokens_by_mark)
    assert [row["id"] for row in (first, second)] == ["Made-up:day:q7:chunk0", "Made-up:day:q7:chunk1"]
    assert first["expected"] == {"doc_0": None, "doc_2": "yes", "doc_3": None}
    assert second["expected"] == {"doc_4": None, "doc_5": "yes"}
    assert first["questions"]["doc_3"]["instructions"]["candidate"] == "sun large é"
    assert second["scoring"]["field_to_document"] == {"doc_4": "e", "doc_5": "f"}
    for row in (first, second):
        assert row["scoring"]["scorable_ids"] == ["a", "c", "d", "e", "f"]
        assert row["scoring"]["retrieved_ids"] == ["a", "b", "c", "d", "e", "f"]
        assert row["scoring"]["qrels"] == {"c": 1, "f": 1, "zz": 1}
        assert row["scoring"]["candidate_recall"] == 2 / 3
        assert row["metadata"]["context_omitted_ids"] == ["b"]
        assert row["metadata"]["candidate_count"] == 6


def test_a_query_whose_candidates_are_all_too_long_gives_no_row():
    with closing(Corpus([("a", "huge")])) as corpus:
        assert list(query_rows(TASK_OF_ROWS, Query("1", "x", frozenset()), corpus, tokens_by_mark)) == []
