"""ToolRet: which of 32 tools help with a query, out of the corpus of tools for the category of its task."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from functools import lru_cache
from pathlib import Path

from suite_builder.data_files import load_json
from suite_builder.recipes.common import SORTED
from suite_builder.recipes.records import naming, parquet_records, typed
from suite_builder.retrieval import Corpus, Query, Task, documents, query_rows
from suite_builder.sources import pinned
from suite_builder.tokens import RANK_FILE, cl100k_counter

CATALOG_ID = 2
STYLE = SORTED
DATA = ("toolret.json",)

FAMILY = "ToolRet-retrieval"
CATEGORY_OF = {task: category for category, tasks in load_json(*DATA).items() for task in tasks}
QUERIES = "{task}/queries-00000-of-00001.parquet"
TOOLS = "{category}/tools-00000-of-00001.parquet"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row or more per query, in order of the names of the tasks.

    Raises:
        ValueError: a malformed query or tool; names file and record.
    """
    count_tokens = lru_cache(maxsize=None)(cl100k_counter(files[RANK_FILE.path]))  # tools come up again and again
    corpora: dict[str, Corpus] = {}
    with ExitStack() as stack:
        for name in sorted(CATEGORY_OF):
            path = QUERIES.format(task=name)
            if path not in files:
                continue
            category = CATEGORY_OF[name]
            if category not in corpora:
                tools = TOOLS.format(category=category)
                corpus = Corpus(documents(tools, files[tools], "documentation"))
                corpora[category] = stack.enter_context(closing(corpus))
            source = pinned(CATALOG_ID, path)
            task = Task(FAMILY, name, category, f"toolret_{category}", source.row_path, source.sha256)
            for query in _queries(path, files[path]):
                for row in query_rows(task, query, corpora[category], count_tokens):
                    yield FAMILY, row


def _queries(path: str, file: Path) -> Iterator[Query]:
    for place, record in parquet_records(path, file, ("id", "query", "labels")):
        with naming(place):
            query_id, text, labels = typed(str, record["id"], record["query"], record["labels"])
            query = Query(query_id, text, frozenset(str(label["id"]) for label in json.loads(labels)))
        yield query
