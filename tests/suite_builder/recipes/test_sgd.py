"""SGD: two of the real files by their own checksums, and a hand-made source."""

import hashlib

import pytest
from recipe_sources import write_json

from suite_builder.recipes import sgd
from suite_builder.recipes.common import PLAIN

SCHEMA = "test/schema.json"
# Rows, bytes and sha256 of the lines of single source files; a prototype's figures, not published ones.
BY_FILE = {
    "test/dialogues_010.json": (652, 2064305, "7e309cca85f5c6fe2659fc835ccf552798b81d9e0a2692c3b3122c5dfee8efd9"),
    "test/dialogues_011.json": (392, 1723863, "839ff01c83b93ebbc255f930acdd5ee81ac7f9abc1b282ea3b0097ca33878d35"),
}
SERVICES = [
    {"service_name": "Banks_2", "description": "Bänke", "slots": [], "intents": [{"name": "Pay"}, {"name": "Check"}]},
    {"service_name": "Hotels_1", "slots": [], "intents": [{"name": "Book", "required_slots": ["city"]}]},
]


def frame(service, **state):
    return {"actions": [], "service": service, "slots": [], "state": {"requested_slots": [], **state}}


def dialogue(dialogue_id="7_00001"):
    return {
        "dialogue_id": dialogue_id,
        "services": ["Banks_2", "Hotels_1"],
        "turns": [
            {"frames": [frame("Banks_2", active_intent="Check")], "speaker": "USER", "utterance": "How much?"},
            {"frames": [{"actions": [], "service": "Banks_2", "slots": []}], "speaker": "SYSTEM", "utterance": "5 €"},
            {
                "frames": [
                    frame("Unknown_1", active_intent="Check"),
                    frame("Banks_2", active_intent="Book"),
                    frame("Hotels_1"),
                    frame("Banks_2", active_intent="NONE"),
                ],
                "speaker": "USER",
                "utterance": "Bye",
            },
        ],
    }


def build(folder, dialogues, services=SERVICES):
    files = {path: write_json(folder / path.replace("/", "-"), content) for path, content in dialogues.items()}
    return list(sgd.rows(files | {SCHEMA: write_json(folder / "schema", services)}))


@pytest.mark.parametrize("path", BY_FILE)
def test_lines_of_a_real_file_are_the_known_ones(shared, path):
    files = {name: shared / "sources" / "10" / name for name in (SCHEMA, path)}
    text = "".join(f"{sgd.STYLE(row)}\n" for _track, row in sgd.rows(files))
    assert (text.count("\n"), len(text), hashlib.sha256(text.encode()).hexdigest()) == BY_FILE[path]


def test_row_in_full(tmp_path):
    track, row = build(tmp_path, {"test/dialogues_007.json": [dialogue()]})[0]
    assert track == "SGD-service-given-intent"
    assert PLAIN(row) == (
        '{"id":"SGD-service-given-intent:test:7_00001:0:0","family":"SGD-service-given-intent","split":"test",'
        '"state":{"history":[{"speaker":"USER","utterance":"How much?"},{"speaker":"SYSTEM","utterance":"5 \\u20ac"},'
        '{"speaker":"USER","utterance":"Bye"}],"service":"Banks_2","schema":{"service_name":"Banks_2",'
        '"description":"B\\u00e4nke","slots":[],"intents":[{"name":"Pay"},{"name":"Check"}]},"task":"SGD '
        'current-service intent"},"questions":{"intent":{"type":"choice","instructions":"Using the dialogue history '
        'and service schema in state, choose the active intent for this service. Choose NONE when no service intent is '
        'active. Do not use future turns or hidden labels.","criteria":{"Pay":"Pay","Check":"Check","NONE":"NONE"}}},'
        '"expected":{"intent":"Check"},"metadata":{"provenance":{"source":"artifacts/benchmark-suite/raw/repos/sgd/test'
        '/dialogues_007.json","sha256":"951a29f264c8fe98af6b8448db8fc38520054fa75d5486bd4b0f785e4cd4b93a",'
        '"revision":"source snapshot 2026-09-18","dialogue_id":"7_00001","turn_index":0,"service":"Banks_2"},'
        '"adaptation_scope":"Current-service intent classification; no system future turn or gold span is supplied.",'
        '"counts":{"service_intent_candidates":3}}}'
    )


def test_files_by_name_and_user_frames_of_known_services_and_intents(tmp_path):
    dialogues = {
        "test/dialogues_010.json": [dialogue("10_0")],
        "test/dialogues_002.json": [dialogue("2_0"), dialogue("2_1")],
    }
    rows = [row for _track, row in build(tmp_path, dialogues)]
    one = [("0:0", "Banks_2", "Check"), ("2:2", "Hotels_1", "NONE"), ("2:3", "Banks_2", "NONE")]
    assert [(row["id"], row["state"]["service"], row["expected"]["intent"]) for row in rows] == [
        (f"SGD-service-given-intent:test:{name}:{place}", service, intent)
        for name in ("2_0", "2_1", "10_0")
        for place, service, intent in one
    ]
    assert all([turn["utterance"] for turn in row["state"]["history"]] == ["How much?", "5 €", "Bye"] for row in rows)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"turns": None}, "'NoneType' object is not iterable"),
        ({"turns": [{"speaker": "USER", "utterance": "x"}]}, "'frames' is missing"),
        ({"turns": [{"speaker": "USER", "utterance": "x", "frames": [{"service": "Banks_2"}]}]}, "'state' is missing"),
        ({"turns": [{"speaker": "USER"}]}, "'utterance' is missing"),
    ],
)
def test_a_malformed_dialogue_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"^test/dialogues_001.json, record 1: {message}"):
        build(tmp_path, {"test/dialogues_001.json": [dialogue(), dialogue() | change]})


def test_a_malformed_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"^test/schema.json: 'intents' is missing"):
        build(tmp_path, {}, [{"service_name": "Banks_2"}])
    files = {SCHEMA: write_json(tmp_path / "schema", []), "test/dialogues_001.json": tmp_path / "cut"}
    files["test/dialogues_001.json"].write_text('[{"dialogue_id"')
    with pytest.raises(ValueError, match=r"^test/dialogues_001.json: "):
        list(sgd.rows(files))
