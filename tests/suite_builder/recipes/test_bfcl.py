"""BFCL from the real source, and from hand-made files."""

import pytest
from recipe_sources import write_json_lines

from suite_builder.recipes import bfcl
from suite_builder.recipes.common import PLAIN

FOLDER = "berkeley-function-call-leaderboard/data"
CATEGORIES = ("simple", "live_simple", "live_multiple")


def tool(name, **parameters):
    return {"name": name, "description": "d", "parameters": {"type": "dict", "properties": parameters}}


def record(record_id, *functions):
    return {"id": record_id, "question": [[{"role": "user", "content": "é?"}]], "function": list(functions)}


def answer(record_id, *names):
    return {"id": record_id, "ground_truth": [{name: {"x": [1]}} for name in names]}


def build(folder, **contents):
    """Rows of files with a category's (records, answers); other categories are empty."""
    files = {}
    for category in CATEGORIES:
        records, answers = contents.get(category, ([], []))
        files[f"{FOLDER}/BFCL_v3_{category}.json"] = write_json_lines(folder / f"{category}.json", records)
        gold = write_json_lines(folder / f"{category}-gold.json", answers)
        files[f"{FOLDER}/possible_answer/BFCL_v3_{category}.json"] = gold
    return [row for track, row in bfcl.rows(files) if track == "BFCL-tool-selection"]


def test_a_row_asks_for_every_tool_and_keeps_the_schemas_as_they_are(tmp_path):
    functions = [tool("uber..ride-2", z={"default": 0.10, "a": 1e-05}, b=1), tool("_Get_Weather.")]
    contents = [record("live_simple_0-0-0", *functions)], [answer("live_simple_0-0-0", "uber..ride-2")]
    [row] = build(tmp_path, live_simple=contents)
    instructions = (
        "Given the complete user conversation and the published function schemas in state, mark each candidate tool "
        "yes if it should be invoked to answer the request, or no otherwise. This evaluates tool-name selection only; "
        "do not produce arguments or call ordering.\\n\\n\\n\\nCandidate tool: "
    )
    criteria = '"criteria":{"yes":"Invoke this tool.","no":"Do not invoke this tool."}'
    place = f"artifacts/benchmark-suite/raw/repos/bfcl/{FOLDER}"
    assert PLAIN(row) == (
        '{"id":"BFCL-tool-selection:live_simple:live_simple_0-0-0","family":"BFCL-tool-selection","split":"test",'
        '"state":{"conversation":[[{"role":"user","content":"\\u00e9?"}]],"functions":[{"name":"uber..ride-2",'
        '"description":"d","parameters":{"type":"dict","properties":{"z":{"default":0.1,"a":1e-05},"b":1}}},'
        '{"name":"_Get_Weather.","description":"d","parameters":{"type":"dict","properties":{}}}],'
        '"task":"BFCL tool-name selection"},'
        f'"questions":{{"tool_uber_ride_2":{{"type":"choice","instructions":"{instructions}uber..ride-2",{criteria}}},'
        f'"tool_Get_Weather":{{"type":"choice","instructions":"{instructions}_Get_Weather.",{criteria}}}}},'
        '"expected":{"tool_uber_ride_2":"yes","tool_Get_Weather":"no"},"metadata":{"provenance":{'
        f'"source":"{place}/BFCL_v3_live_simple.json",'
        '"sha256":"dc741b3482efb41920af8c5c620c29609a9e2412e4543364416ef63ab2076887",'
        f'"gold_source":"{place}/possible_answer/BFCL_v3_live_simple.json",'
        '"gold_sha256":"3c532bc5930ec1d90803ab1ff26d102ec4706aa0bdd66f15f4c3c3064f16a097",'
        '"revision":"source snapshot 2026-09-18","source_id":"live_simple_0-0-0"},'
        '"adaptation_scope":"Tool-name selection projection; arguments, ordering, and execution are not claimed.",'
        '"category":"live_simple","candidate_tools":["uber..ride-2","_Get_Weather."],'
        '"selected_gold_tools":["uber..ride-2"]}}'
    )


def test_categories_follow_each_other_and_gold_is_looked_up_by_id_in_the_own_file(tmp_path):
    both = [record("b", tool("x"), tool("y")), record("a", tool("x"), tool("y"))]
    rows = build(
        tmp_path,
        live_multiple=(both[:1], [answer("b", "x")]),
        simple=(both, [answer("a", "y", "x", "y"), answer("b", "y")]),
    )
    assert [(row["metadata"]["category"], row["metadata"]["provenance"]["source_id"]) for row in rows] == [
        ("simple", "b"), ("simple", "a"), ("live_multiple", "b"),
    ]
    assert [row["metadata"]["selected_gold_tools"] for row in rows] == [["y"], ["x", "y"], ["x"]]


def test_records_without_a_full_gold_among_their_tools_are_skipped(tmp_path):
    records = [
        record("no answer", tool("x")),
        record("empty answer", tool("x")),
        {**record("no list"), "function": tool("x")},
        record("no candidates"),
        record("gold elsewhere", tool("x")),
        record("nameless tool", {"description": "d"}, tool("x"), tool("")),
    ]
    answers = [
        answer("empty answer"), answer("no list", "x"), answer("no candidates", "x"),
        answer("gold elsewhere", "x", "find_closest"), answer("nameless tool", "x"),
    ]
    [row] = build(tmp_path, simple=(records, answers))
    assert row["metadata"]["provenance"]["source_id"] == "nameless tool"
    assert row["metadata"]["candidate_tools"] == ["x"]
    assert row["state"]["functions"] == records[-1]["function"]


@pytest.mark.parametrize(
    "bad, bad_answer, message",
    [
        ({"id": "r", "question": []}, answer("r", "x"), "BFCL_v3_simple.json, record 0: 'function' is missing"),
        (
            {"id": "r", "function": [tool("x")]}, answer("r", "x"),
            "BFCL_v3_simple.json, record 0: 'question' is missing",
        ),
        ({"function": [], "question": []}, answer("r", "x"), "BFCL_v3_simple.json, record 0: 'id' is missing"),
        (record("r", "x"), answer("r", "x"), "BFCL_v3_simple.json, record 0: 'str' object has no attribute 'get'"),
        (
            record("r", tool("x.y"), tool("x_y")), answer("r", "x_y"),
            r"BFCL_v3_simple.json, record 0: two of the tools \['x.y', 'x_y'\] would have the same question key",
        ),
        (record("r"), {"id": "r"}, "possible_answer/BFCL_v3_simple.json, record 0: 'ground_truth' is missing"),
        (
            record("r"), {"id": "r", "ground_truth": ["x(1)"]},
            "possible_answer/BFCL_v3_simple.json, record 0: expected dict, found",
        ),
    ],
)
def test_a_malformed_record_is_named(tmp_path, bad, bad_answer, message):
    with pytest.raises(ValueError, match=rf"^{FOLDER}/{message}"):
        build(tmp_path, simple=([bad], [bad_answer]))
