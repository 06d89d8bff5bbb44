"""Candidate ranking as ToolRet and BRIGHT have it: BM25 takes 32 documents of a corpus for a query, and each of them
becomes the question whether it is relevant.

Knows nothing of benchmarks. Ranks are those of SQLite's FTS5 for all words of a query joined by OR, word by word: FTS5
adds up one score per word in the order of the words, so its score for each single word, kept for later queries, gives
the same sum, bit for bit, in a fraction of the time.
"""

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from suite_builder.recipes.common import SORTED, choice
from suite_builder.recipes.records import naming, parquet_records, typed

CANDIDATES = 32
CANDIDATE_TOKENS = 31_000  # of state and question; a candidate that needs more is not asked about
CHUNK_TOKENS = 60_000  # of state and all questions of a row
PAGE_CACHE_KIB = 64 << 10
WORDS_KEPT = 4096

WORD = re.compile(r"[^\W_]+")
STOP_WORDS = frozenset(
    "a an the is are was were be been being do does did to of on in for by with and or as at from that this these "
    "those it its i you we they he she have has had can could should would will what which how when where why who "
    "please me my your".split()
)
TASK = "Rank candidate documents/tools by relevance to this query."
ASSESS = (
    "Assess whether this candidate is relevant/useful to the query. Use the full text below; return the probability "
    "of relevance."
)
CRITERIA = {"yes": "Relevant/useful to the query.", "no": "Not relevant/useful to the query."}
SCORING = {
    "type": "retrieval_ranking",
    "scorer": "evaluation.adapters.retrieval_ranking:score_query",
    "combine_chunks_by": "metadata.group_id",
}
METHOD = {
    "context_estimator": "cl100k_base;31Kstate+field/60Ktotal; fulltext only",
    "protocol": (
        "Null means unjudged, never score as verified-negative classification. For conventional ranking metrics only, "
        "unjudged relevance=0. No gold insertion."
    ),
}


@dataclass(frozen=True)
class Task:
    """Queries of one source file over one corpus; source_path and source_sha256 are what rows say about the file."""

    family: str
    domain: str
    category: str
    corpus: str
    source_path: str
    source_sha256: str


@dataclass(frozen=True)
class Query:
    """relevant: ids of the documents judged relevant; excluded: ids of documents that must not be retrieved."""

    id: str
    text: str
    relevant: frozenset[str]
    excluded: frozenset[str] = frozenset()

    def __post_init__(self):
        if both := self.relevant & self.excluded:
            raise ValueError(f"document {min(both)!r} is both relevant and excluded")


def documents(path: str, file: Path, text_column: str) -> Iterator[tuple[str, str]]:
    """(id, text) of the documents in a Parquet file; `path` is its name in errors.

    Raises:
        ValueError: a column is missing, a value is no text or an id comes twice; names file and record.
    """
    seen = set()
    for place, record in parquet_records(path, file, ("id", text_column)):
        with naming(place):
            docid, text = typed(str, record["id"], record[text_column])
            if docid in seen:
                raise ValueError(f"a second document {docid!r}")
        seen.add(docid)
        yield docid, text


def words(text: str) -> list[str]:
    """Case-folded words of a query without stop words, each once, by first occurrence."""
    return [word for word in dict.fromkeys(match.casefold() for match in WORD.findall(text)) if word not in STOP_WORDS]


class Corpus:
    """Full-text index of documents with distinct ids, in a temporary database on disk that ends with `close`."""

    def __init__(self, documents: Iterable[tuple[str, str]]):
        self.docids: list[str] = []
        self._database = sqlite3.connect("")
        self._database.execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
        self._database.execute(
            'CREATE VIRTUAL TABLE docs USING fts5(docid UNINDEXED,content,tokenize="porter unicode61")'
        )
        self._database.executemany("INSERT INTO docs VALUES (?, ?)", self._noted(documents))
        self._word_scores = lru_cache(WORDS_KEPT)(self._score_word)

    def _noted(self, documents: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        for document in documents:
            self.docids.append(document[0])
            yield document

    def close(self) -> None:
        """Give back disk and memory."""
        self._database.close()
        self._word_scores.cache_clear()

    def candidates(self, text: str, excluded: Collection[str] = ()) -> list[int]:
        """Numbers, from 0 in the order they came, of the 32 best documents for a query, without the excluded ones.

        Best is lowest BM25, then lowest id. When fewer documents match, those with the lowest ids of all fill up.
        """
        scores = self.scores(text)
        best = self._by_score(scores, CANDIDATES + len(excluded))
        found = [number for number in best if self.docids[number] not in excluded][:CANDIDATES]
        for number in self._by_docid:
            if len(found) == CANDIDATES:
                break
            if scores[number] == 0 and self.docids[number] not in excluded:
                found.append(number)
        return found

    def scores(self, text: str) -> np.ndarray:
        """BM25 of every document, as SQLite has it: below 0, lowest is best; 0 where no word of the query matches."""
        scores = np.zeros(len(self.docids))
        for word in words(text):
            matches = self._word_scores(word)
            scores[matches["number"]] += matches["score"]
        return scores

    def _score_word(self, word: str) -> np.ndarray:
        """(number, score) of the documents that match one word."""
        found = self._database.execute("SELECT rowid - 1, bm25(docs) FROM docs WHERE docs MATCH ?", (f'"{word}"',))
        return np.fromiter(found, dtype=[("number", np.int32), ("score", np.float64)])

    def _by_score(self, scores: np.ndarray, count: int) -> list[int]:
        """At least the `count` best matching documents, if there are as many, best first."""
        matching = np.flatnonzero(scores)
        if len(matching) > count:
            worst = np.partition(scores, count - 1)[count - 1]
            matching = np.flatnonzero(scores <= worst)
        return sorted(matching.tolist(), key=lambda number: (scores[number], self.docids[number]))

    @cached_property
    def _by_docid(self) -> list[int]:
        return sorted(range(len(self.docids)), key=self.docids.__getitem__)

    def text(self, number: int) -> str:
        """The untouched text of a document."""
        return self._database.execute("SELECT content FROM docs WHERE rowid = ?", (number + 1,)).fetchone()[0]


def query_rows(
    task: Task, query: Query, corpus: Corpus, count_tokens: Callable[[str], int]
) -> Iterator[dict[str, Any]]:
    """The rows of a query: one per chunk of the candidates that are not too long; none if all are.

    Args:
        count_tokens: counts the tokens of the ASCII JSON texts of state and questions.
    """
    numbers = corpus.candidates(query.text, query.excluded)
    retrieved = [corpus.docids[number] for number in numbers]
    state = {"query": query.text, "task": TASK}
    questions = [choice({"task": ASSESS, "candidate": corpus.text(number)}, CRITERIA) for number in numbers]
    state_tokens = count_tokens(SORTED(state))
    tokens = [count_tokens(SORTED(question)) for question in questions]
    fits = [state_tokens + count <= CANDIDATE_TOKENS for count in tokens]
    for c, ranks in enumerate(chunks(state_tokens, tokens)):
        docid_of = {f"doc_{rank}": retrieved[rank] for rank in ranks}
        yield {
            "id": f"{task.family}:{task.domain}:{query.id}:chunk{c}",
            "family": task.family,
            "split": "evaluation-only",
            "state": state,
            "questions": {f"doc_{rank}": questions[rank] for rank in ranks},
            "expected": {key: "yes" if docid in query.relevant else None for key, docid in docid_of.items()},
            "scoring": {
                **SCORING,
                "field_to_document": docid_of,
                "qrels": dict.fromkeys(query.relevant, 1),
                "retrieved_ids": retrieved,
                "scorable_ids": [docid for docid, fit in zip(retrieved, fits, strict=True) if fit],
                "candidate_recall": recall(retrieved, query.relevant),
            },
            "metadata": {
                **METHOD,
                "domain": task.domain,
                "category": task.category,
                "source": task.source_path,
                "source_sha256": task.source_sha256,
                "corpus_index": task.corpus,
                "group_id": f"{task.domain}:{query.id}",
                "candidate_count": len(retrieved),
                "context_omitted_ids": [docid for docid, fit in zip(retrieved, fits, strict=True) if not fit],
            },
        }


def chunks(state_tokens: int, tokens: Sequence[int]) -> Iterator[list[int]]:
    """Ranks of the candidates that fit, in rank order, cut into rows; every row holds the state as well."""
    chunk, size = [], state_tokens
    for rank, count in enumerate(tokens):
        if state_tokens + count > CANDIDATE_TOKENS:
            continue
        if chunk and size + count > CHUNK_TOKENS:
            yield chunk
            chunk, size = [], state_tokens
        chunk.append(rank)
        size += count
    if chunk:
        yield chunk


def recall(retrieved: Sequence[str], relevant: Collection[str]) -> float | None:
    """Share of the relevant documents that were retrieved; None when there are none."""
    return sum(docid in relevant for docid in retrieved) / len(relevant) if relevant else None
