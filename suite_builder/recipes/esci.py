"""Amazon ESCI: how relevant a product is to a search query: exact, substitute, complement or irrelevant."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming, parquet_records, typed
from suite_builder.sources import pinned, sources

CATALOG_ID = 37
STYLE = PLAIN

EXAMPLES = "shopping_queries_dataset/shopping_queries_dataset_examples.parquet"
PRODUCTS = "shopping_queries_dataset/shopping_queries_dataset_products.parquet"
QUESTION = choice(
    "Classify the relevance of this product to the search query using the ESCI categories.",
    {
        "E": "Exact: the product satisfies the search query.",
        "S": "Substitute: a product that could substitute for the requested product.",
        "C": "Complement: a product that complements the requested product.",
        "I": "Irrelevant: the product does not address the requested product need.",
    },
)
KEYS = ("product_locale", "product_id")
TEXTS = (*KEYS, "query", "esci_label")
NUMBERS = ("example_id", "query_id", "small_version", "large_version")
FIELDS = ("title", "description", "bullet_point", "brand", "color")
TABLES = f"""
CREATE TABLE examples ({", ".join(TEXTS + NUMBERS)}, UNIQUE (example_id));
CREATE TABLE products ({", ".join(KEYS + FIELDS)}, UNIQUE ({", ".join(KEYS)}));
"""
JOINED = f"""
SELECT {", ".join(TEXTS + NUMBERS + FIELDS)} FROM examples LEFT JOIN products USING ({", ".join(KEYS)})
ORDER BY example_id
"""


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per example of the test split, by example id. Examples and products meet in a temporary database on disk.

    Raises:
        ValueError: a malformed record, or an example without its product; names file and record.
    """
    facts = _source_facts()
    with closing(sqlite3.connect("")) as database:
        database.executescript(TABLES)
        wanted = set()
        for place, record in parquet_records(EXAMPLES, files[EXAMPLES], (*TEXTS, *NUMBERS, "split")):
            if record["split"] == "test":
                with naming(place):
                    example = _example(record)
                _insert(database, "examples", place, example)
                wanted.add(example[: len(KEYS)])
        columns = (*KEYS, *(f"product_{field}" for field in FIELDS))
        for place, record in parquet_records(PRODUCTS, files[PRODUCTS], columns):
            product = tuple(record[column] for column in columns)
            if product[: len(KEYS)] in wanted:
                _insert(database, "products", place, product)
        for values in database.execute(JOINED):
            yield "Amazon-ESCI", _row(dict(zip(TEXTS + NUMBERS + FIELDS, values, strict=True)), facts)


def _example(record: Mapping[str, Any]) -> tuple:
    if record["esci_label"] not in QUESTION["criteria"]:
        raise ValueError(f"label {record['esci_label']!r}")
    texts, numbers = ([record[name] for name in names] for names in (TEXTS, NUMBERS))
    return (*typed(str, *texts), *typed(int, *numbers))


def _insert(database: sqlite3.Connection, table: str, place: str, values: tuple) -> None:
    try:
        database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    except sqlite3.IntegrityError:
        raise ValueError(f"{place}: it is there twice") from None


def _source_facts() -> dict[str, Any]:
    """What the metadata of every row say about the source."""
    examples, products = pinned(CATALOG_ID, EXAMPLES), pinned(CATALOG_ID, PRODUCTS)
    return {
        "benchmark_number": CATALOG_ID,
        "source": "https://github.com/amazon-science/esci-data",
        "source_revision": sources()[CATALOG_ID][0].revision,
        "source_sha256": examples.sha256,
        "product_source_sha256": products.sha256,
        "source_file": examples.row_path,
        "product_source_file": products.row_path,
        "primary_metric": "micro-F1 and macro-F1 for native 4-class ESCI classification",
        "mapping": "all released test query-product pairs; no candidate sampling",
    }


def _row(joined: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    if joined["title"] is None:
        raise ValueError(f"{PRODUCTS}: no product with a title for example {joined['example_id']} of {EXAMPLES}")
    return {
        "id": f"Amazon-ESCI:test:{joined['example_id']}",
        "family": "Amazon-ESCI",
        "split": "test",
        "state": {
            "search_query": joined["query"],
            "product": {field: joined[field] for field in FIELDS if joined[field] is not None},
        },
        "questions": {"answer": QUESTION},
        "expected": {"answer": joined["esci_label"]},
        "metadata": {
            **facts,
            "source_id": joined["example_id"],
            "query_id": joined["query_id"],
            "product_id": joined["product_id"],
            "locale": joined["product_locale"],
            "small_version": joined["small_version"],
            "large_version": joined["large_version"],
        },
    }
