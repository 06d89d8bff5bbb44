"""Amazon ESCI from hand-made Parquet files in the form of the pinned ones, which are not at hand."""

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import esci
from suite_builder.recipes.common import PLAIN

FOLDER = "shopping_queries_dataset/shopping_queries_dataset_"
EXAMPLES, PRODUCTS = f"{FOLDER}examples.parquet", f"{FOLDER}products.parquet"
SMALL = {
    "example_id": 9, "query": " shoe é\n", "query_id": 2, "product_id": "B1", "product_locale": "us", "esci_label": "E",
    "small_version": 1, "large_version": 0, "split": "test",
}
SHOE = {
    "product_id": "B1", "product_title": "A <b>shoe</b>\n", "product_description": "", "product_bullet_point": None,
    "product_brand": "Made-up", "product_color": None, "product_locale": "us",
}


def build(folder, examples, products=(SHOE,)):
    tables = {EXAMPLES: ("e.parquet", examples), PRODUCTS: ("p.parquet", products)}
    return list(esci.rows({path: write_parquet(folder / name, records) for path, (name, records) in tables.items()}))


def test_row_in_full(tmp_path):
    [(track, row)] = build(tmp_path, [SMALL])
    assert track == "Amazon-ESCI"
    assert PLAIN(row) == (
        '{"id":"Amazon-ESCI:test:9","family":"Amazon-ESCI","split":"test","state":{"search_query":" shoe \\u00e9\\n",'
        '"product":{"title":"A <b>shoe</b>\\n","description":"","brand":"Made-up"}},"questions":{"answer":{"type":'
        '"choice","instructions":"Classify the relevance of this product to the search query using the ESCI '
        'categories.",'
        '"criteria":{"E":"Exact: the product satisfies the search query.","S":"Substitute: a product that could '
        'substitute for the requested product.","C":"Complement: a product that complements the requested product.",'
        '"I":"Irrelevant: the product does not address the requested product need."}}},"expected":{"answer":"E"},'
        '"metadata":{"benchmark_number":37,"source":"https://github.com/amazon-science/esci-data",'
        '"source_revision":"7916cdf6ab75a462e77f20ab40428a10923998d5",'
        '"source_sha256":"4a735b693b4a424a6fc67f5be6e4c811495c488bbf66d02a602d308b2744263a",'
        '"product_source_sha256":"25124442d064d64b26f74082d6fa09438d679efc0c183cf28d19064a2b65a265",'
        '"source_file":"artifacts/benchmark-suite/raw/repos/esci/shopping_queries_dataset/'
        'shopping_queries_dataset_examples.parquet",'
        '"product_source_file":"artifacts/benchmark-suite/raw/repos/esci/shopping_queries_dataset/'
        'shopping_queries_dataset_products.parquet",'
        '"primary_metric":"micro-F1 and macro-F1 for native 4-class ESCI classification",'
        '"mapping":"all released test query-product pairs; no candidate sampling","source_id":9,"query_id":2,'
        '"product_id":"B1","locale":"us","small_version":1,"large_version":0}}'
    )


def test_test_examples_come_by_id_each_with_the_product_of_its_own_locale(tmp_path):
    examples = [
        SMALL | {"example_id": 100}, SMALL | {"example_id": 20, "product_locale": "jp", "esci_label": "S"},
        SMALL | {"example_id": 3, "split": "train", "product_id": "unknown"},
        SMALL | {"example_id": 7, "product_id": "B2", "esci_label": "I"},
    ]
    products = [
        SHOE | {"product_title": "靴", "product_locale": "jp", "product_color": "赤"}, SHOE,
        SHOE | {"product_id": "B2", "product_title": "Hat"}, SHOE | {"product_id": "B3", "product_title": None},
    ]
    rows = [row for _track, row in build(tmp_path, examples, products)]
    assert [(row["id"], row["expected"]["answer"], row["state"]["product"]["title"]) for row in rows] == [
        ("Amazon-ESCI:test:7", "I", "Hat"), ("Amazon-ESCI:test:20", "S", "靴"),
        ("Amazon-ESCI:test:100", "E", "A <b>shoe</b>\n"),
    ]
    assert list(rows[1]["state"]["product"]) == ["title", "description", "brand", "color"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"esci_label": "X"}, "label 'X'"), ({"query": None}, "expected str, found None"),
        ({"query_id": None}, "expected int, found None"), ({}, "it is there twice"),
    ],
)
def test_a_malformed_example_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^{EXAMPLES}, record 1: {message}$"):
        build(tmp_path, [SMALL, SMALL | change])


def test_a_second_product_of_the_same_id_and_locale_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^{PRODUCTS}, record 2: it is there twice$"):
        build(tmp_path, [SMALL], [SHOE, SHOE | {"product_locale": "es"}, SHOE])


@pytest.mark.parametrize("change", [{"product_id": "B2"}, {"product_title": None}])
def test_an_example_without_its_product_is_named(tmp_path, change):
    with pytest.raises(ValueError, match=f"^{PRODUCTS}: no product with a title for example 9 of {EXAMPLES}$"):
        build(tmp_path, [SMALL], [SHOE | {"product_color": "red"} | change])


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^{EXAMPLES}: no column split$"):
        build(tmp_path, [{key: value for key, value in SMALL.items() if key != "split"}])
