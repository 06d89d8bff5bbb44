"""ToolRet from hand-made Parquet files in the form of the pinned ones, which are not at hand."""

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import toolret
from suite_builder.recipes.common import SORTED
from suite_builder.sources import sources

QUERIES, TOOLS = "queries-00000-of-00001.parquet", "tools-00000-of-00001.parquet"
GTA_SHA256 = "757560b5e587993e8fb05c9d3ad146016cdefa21b938bd50b78ad6045067bb08"
WEATHER = {
    "id": "gta_query_0", "query": "What is the wéather?", "instruction": "unused", "category": "unused",
    "labels": '[{"id": "t2", "doc": {"x": 1}, "relevance": 1}, {"id": 7}]',
}


@pytest.fixture(autouse=True)
def one_token_a_character(monkeypatch):
    """The real tokenizer's rank file is not part of the project."""
    monkeypatch.setattr(toolret, "cl100k_counter", lambda _file: len)


def query(query_id, text="weather", labels="[]"):
    return WEATHER | {"id": query_id, "query": text, "labels": labels}


def build(folder, tools, queries):
    files = {"cl100k_base.tiktoken": folder / "unused"}
    for name, category in tools.items():
        records = [{"id": docid, "documentation": text} for docid, text in category.items()]
        files[f"{name}/{TOOLS}"] = write_parquet(folder / f"{name}-tools", records)
    for name, records in queries.items():
        files[f"{name}/{QUERIES}"] = write_parquet(folder / f"{name}-queries", records)
    pairs = list(toolret.rows(files))
    assert {track for track, _row in pairs} <= {"ToolRet-retrieval"}
    return [row for _track, row in pairs]


def test_row_in_full(tmp_path):
    [row] = build(tmp_path, {"customized": {"t1": "{'é': 1}\n", "t2": "weathers"}}, {"gta": [WEATHER]})
    assess = (
        "Assess whether this candidate is relevant/useful to the query. Use the full text below; return the "
        "probability of relevance."
    )
    criteria = '"criteria":{"no":"Not relevant/useful to the query.","yes":"Relevant/useful to the query."}'
    assert SORTED(row) == (
        '{"expected":{"doc_0":"yes","doc_1":null},"family":"ToolRet-retrieval",'
        '"id":"ToolRet-retrieval:gta:gta_query_0:chunk0","metadata":{"candidate_count":2,"category":"customized",'
        '"context_estimator":"cl100k_base;31Kstate+field/60Ktotal; fulltext only","context_omitted_ids":[],'
        '"corpus_index":"toolret_customized","domain":"gta","group_id":"gta:gta_query_0","protocol":"Null means '
        'unjudged, never score as verified-negative classification. For conventional ranking metrics only, unjudged '
        'relevance=0. No gold insertion.",'
        f'"source":"artifacts/benchmark-suite/raw/toolret_queries/gta/{QUERIES}","source_sha256":"{GTA_SHA256}"}},'
        '"questions":{'
        f'"doc_0":{{{criteria},"instructions":{{"candidate":"weathers","task":"{assess}"}},"type":"choice"}},'
        f'"doc_1":{{{criteria},"instructions":{{"candidate":"{{\'\\u00e9\': 1}}\\n","task":"{assess}"}},'
        '"type":"choice"}},'
        '"scoring":{"candidate_recall":0.5,"combine_chunks_by":"metadata.group_id","field_to_document":{"doc_0":"t2",'
        '"doc_1":"t1"},"qrels":{"7":1,"t2":1},"retrieved_ids":["t2","t1"],"scorable_ids":["t2","t1"],'
        '"scorer":"evaluation.adapters.retrieval_ranking:score_query","type":"retrieval_ranking"},'
        '"split":"evaluation-only","state":{"query":"What is the w\\u00e9ather?",'
        '"task":"Rank candidate documents/tools by relevance to this query."}}'
    )


def test_tasks_come_by_the_name_of_their_folder_and_use_the_tools_of_their_category(tmp_path):
    names = ("toolbench-sam", "toolink", "toolbench", "apibank")
    rows = build(
        tmp_path,
        {"web": {"w": "weather"}, "customized": {"c": "weather"}, "code": {"k": "weather"}},
        {name: [query(f"{name}_2"), query(f"{name}_1")] for name in names},
    )
    assert [row["metadata"]["group_id"] for row in rows] == [
        f"{name}:{name}_{n}" for name in ("apibank", "toolbench", "toolbench-sam", "toolink") for n in (2, 1)
    ]
    assert [row["scoring"]["retrieved_ids"] for row in rows[::2]] == [["w"], ["w"], ["c"], ["k"]]
    assert [row["metadata"]["corpus_index"] for row in rows[::2]] == [
        "toolret_web", "toolret_web", "toolret_customized", "toolret_code",
    ]


def test_long_candidates_go_on_in_a_second_row_of_the_same_group(tmp_path):
    tools = {f"t{n}": f"weather {'x' * 25_000}" for n in range(3)} | {"t3": "weather " + "y" * 31_000}
    rows = build(tmp_path, {"customized": tools}, {"gta": [query("q")]})
    assert [list(row["questions"]) for row in rows] == [["doc_0", "doc_1"], ["doc_2"]]
    assert {row["metadata"]["group_id"] for row in rows} == {"gta:q"}
    assert rows[0]["metadata"]["context_omitted_ids"] == ["t3"]
    assert rows[0]["scoring"]["candidate_recall"] is None


def test_32_candidates_at_most_and_judgements_of_other_tools_count_as_missed(tmp_path):
    tools = {f"t{n:02}": "weather" for n in range(40)}
    [row] = build(tmp_path, {"customized": tools}, {"gta": [query("q", labels='[{"id": "t01"}, {"id": "t39"}]')]})
    assert row["scoring"]["retrieved_ids"] == [f"t{n:02}" for n in range(32)]
    assert row["scoring"]["candidate_recall"] == 0.5
    assert [key for key, gold in row["expected"].items() if gold == "yes"] == ["doc_1"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"labels": "{"}, "Expecting property name"),
        ({"labels": '[{"doc": 1}]'}, "'id' is missing"),
        ({"labels": None}, "expected str, found None"),
        ({"query": None}, "expected str, found None"),
    ],
)
def test_a_malformed_query_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^gta/{QUERIES}, record 1: {message}"):
        build(tmp_path, {"customized": {"t": "x"}}, {"gta": [WEATHER, WEATHER | change]})


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^gta/{QUERIES}: no column labels$"):
        build(tmp_path, {"customized": {"t": "x"}}, {"gta": [{"id": "1", "query": "x"}]})


def test_every_task_with_a_pinned_file_has_a_category_with_one():
    _tokens, queries, tools = sources()[2]
    assert {file.path for file in queries.files} == {f"{task}/{QUERIES}" for task in toolret.CATEGORY_OF}
    assert {file.path for file in tools.files} == {f"{name}/{TOOLS}" for name in toolret.CATEGORY_OF.values()}
    assert len(queries.files) == 35
