"""BRIGHT: which of 32 documents help with a query that takes reasoning to answer, out of the corpus of its domain."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from suite_builder.arrivals import sha256_of
from suite_builder.recipes.common import SORTED
from suite_builder.recipes.records import naming, parquet_records, typed
from suite_builder.retrieval import Corpus, Query, Task, documents, query_rows
from suite_builder.sources import pinned
from suite_builder.tokens import RANK_FILE, cl100k_counter

CATALOG_ID = 36
STYLE = SORTED

FAMILY = "BRIGHT-retrieval"
EXAMPLES, DOCUMENTS = "examples/", "documents/"
SUFFIX = "-00000-of-00001.parquet"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row or more per query, in order of the names of the domains.

    Raises:
        ValueError: a malformed query or document; names file and record.
    """
    count_tokens = cl100k_counter(files[RANK_FILE.path])
    for path in sorted(path for path in files if path.startswith(EXAMPLES)):
        domain = path.removeprefix(EXAMPLES).removesuffix(SUFFIX)
        source, corpus_path = pinned(CATALOG_ID, path), path.replace(EXAMPLES, DOCUMENTS)
        sha256 = source.sha256 or sha256_of(files[path])
        task = Task(FAMILY, domain, domain, f"bright_{domain}", source.row_path, sha256)
        with closing(Corpus(documents(corpus_path, files[corpus_path], "content"))) as corpus:
            for query in _queries(path, files[path]):
                for row in query_rows(task, query, corpus, count_tokens):
                    yield FAMILY, row


def _queries(path: str, file: Path) -> Iterator[Query]:
    for place, record in parquet_records(path, file, ("id", "query", "gold_ids", "excluded_ids")):
        with naming(place):
            query_id, text = typed(str, record["id"], record["query"])
            relevant, excluded = typed(str, *record["gold_ids"]), typed(str, *record["excluded_ids"] or ())
            query = Query(query_id, text, frozenset(relevant), frozenset(excluded))
        yield query
