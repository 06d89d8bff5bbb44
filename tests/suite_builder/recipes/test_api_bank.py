"""API-Bank: real sample dialogues with a stand-in for the catalogue, which is not at hand, and hand-made sources."""

import hashlib
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from recipe_sources import published_requests, real_files, write_lines

from suite_builder.recipes import api_bank
from suite_builder.recipes.common import PLAIN
from suite_builder.rows import payload_text
from suite_builder.sources import sources

LEVEL_1 = "api-bank/lv1-lv2-samples/level-1-given-desc/"
LEVEL_2 = "api-bank/lv1-lv2-samples/level-2-toolsearcher/"
FIRST = LEVEL_1 + "AddAgenda-level-1-1.jsonl"
FIRST_SHA256 = next(file.sha256 for file in sources()[3][0].files if file.path == FIRST)
SAMPLES_DIGEST = "b429bf52498400452f36f0cc98427193cff8419f246f3f836d9644256fb869fb"
NORMALIZED_SIZE = 13601141

# The names that the dialogues call, and three that fit the published sizes.
NEVER_CALLED = {"AddScene", "CheckToken", "ModifyScene"}

APIS = {
    "alarm.py": '''
"""Not run: it would fail here."""
import nowhere
LIMIT = 3
def helper():
    class Hidden: pass
class AddAlarm(API):
    description = "Sets an alarm, \\u00e9."
    input_parameters = {"time": {"type": "str"}, "again": True}
    output_parameters: dict = {"never": "read"}
    first = second = {}
    description_more, spare = "", ""
    def call(self):
        description = "not of the class"
class Other:
    description = "second class"
''',
    "zip.py": "class Unzip:\n    description = 'a' + str(1)\n    output_parameters = {'done': None}\n",
    "empty.py": "limit = 1\n",
    "api.py": "class API:\n    description = 'base'\n",
    "__init__.py": "class Package:\n    pass\n",
    "deep/below.py": "class Below:\n    pass\n",
    "ask.py": "class Ask:\n    description = 'first'\n    description = 'last'\n",
}
DIALOGUE = [
    {"role": "User", "text": "Wake me, é\u2028please"},
    {"role": "API", "api_name": "Ask", "param_dict": {"b": True, "a": None}, "result": {"output": 1.5}},
    {"role": "API", "api_name": "Unknown", "param_dict": {}},
    {"role": "AI", "text": "Done"},
    {"role": "API", "api_name": "AddAlarm", "param_dict": {}},
]


def api_files(folder: Path, apis: dict[str, str]) -> dict[str, Path]:
    files = {}
    for name, source in apis.items():
        files[f"api-bank/apis/{name}"] = path = folder / "apis" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return files


def source_files(folder: Path) -> dict[str, Path]:
    blanks = ["", '{"role": "AI", "text": ""}', " ", '{"role": "API", "api_name": "Ask"}']
    samples = {
        LEVEL_2 + "QueryReminder-level-3-3.jsonl": write_lines(folder / "with blanks", blanks),
        FIRST: write_lines(folder / "first", (json.dumps(line, ensure_ascii=False) for line in DIALOGUE)),
    }
    return samples | api_files(folder, APIS)


def test_row_in_full(tmp_path):
    row = list(api_bank.rows(source_files(tmp_path)))[1][1]
    assert PLAIN(row) == (
        '{"id":"API-Bank-tool-selection:AddAgenda-level-1-1:api-4","family":"API-Bank-tool-selection",'
        '"split":"evaluation-only","state":{"dialogue":[{"role":"User","text":"Wake me, \\u00e9\\u2028please"},'
        '{"role":"API","api_name":"Ask","param_dict":{"b":true,"a":null},"result":{"output":1.5}},{"role":"API",'
        '"api_name":"Unknown","param_dict":{}},{"role":"AI","text":"Done"}],"available_tools":[{"name":"AddAlarm",'
        '"description":"Sets an alarm, \\u00e9.","input_parameters":{"time":{"type":"str"},"again":true},'
        '"output_parameters":{}},{"name":"Ask","description":"last","input_parameters":{},"output_parameters":{}},'
        '{"name":"Unzip","description":null,"input_parameters":{},"output_parameters":{"done":null}}],"task":"API-Bank '
        'current API tool selection"},"questions":{"tool":{"type":"choice","instructions":"Select the single API tool '
        'to invoke for the dialogue prefix in state. Use the published catalog in state. Do not infer arguments or use '
        'the current/future API result.","criteria":{"option_0":"Ask","option_1":"Unzip","option_2":"AddAlarm"}}},'
        '"expected":{"tool":"option_2"},"metadata":{"provenance":{"source":"artifacts/benchmark-suite/raw/repos/apibank'
        '/api-bank/lv1-lv2-samples/level-1-given-desc/AddAgenda-level-1-1.jsonl",'
        '"source_sha256":"1cd20b3cabdea2a7237fdbcbca615d6e54b8bd3aa5d9d4cdcb69e7956f201c33","turn_index":4},'
        '"gold_tool":"AddAlarm","candidate_policy":"full published API catalog; source available subset is not '
        'documented in this sample format","adaptation_scope":"Tool-name selection only; arguments and execution are '
        'not claimed."}}'
    )


def test_every_call_of_a_known_api_is_a_row_and_positions_leave_blank_lines_out(tmp_path):
    rows = [row for _track, row in api_bank.rows(source_files(tmp_path))]
    assert [row["id"] for row in rows] == [
        "API-Bank-tool-selection:AddAgenda-level-1-1:api-1",
        "API-Bank-tool-selection:AddAgenda-level-1-1:api-4",
        "API-Bank-tool-selection:QueryReminder-level-3-3:api-1",
    ]
    assert [len(row["state"]["dialogue"]) for row in rows] == [1, 4, 1]
    seeds = ["AddAgenda-level-1-1.jsonl:1", "AddAgenda-level-1-1.jsonl:4", "QueryReminder-level-3-3.jsonl:1"]
    for row, seed in zip(rows, seeds, strict=True):
        order = [0, 1, 2]
        random.Random(f"20260918:{seed}").shuffle(order)
        names = [["AddAlarm", "Ask", "Unzip"][place] for place in order]
        assert list(row["questions"]["tool"]["criteria"].values()) == names
        assert row["questions"]["tool"]["criteria"][row["expected"]["tool"]] == row["metadata"]["gold_tool"]


def test_a_tool_is_the_first_class_with_its_literals(tmp_path):
    _track, row = next(api_bank.rows(source_files(tmp_path)))
    assert row["state"]["available_tools"] == [
        {
            "name": "AddAlarm",
            "description": "Sets an alarm, é.",
            "input_parameters": {"time": {"type": "str"}, "again": True},
            "output_parameters": {},
        },
        {"name": "Ask", "description": "last", "input_parameters": {}, "output_parameters": {}},
        {"name": "Unzip", "description": None, "input_parameters": {}, "output_parameters": {"done": None}},
    ]


@pytest.mark.parametrize(
    "line, message",
    [("{", "Expecting"), ('{"text": "x"}', "'role' is missing"), ('{"role": "API"}', "'api_name' is missing")],
)
def test_a_malformed_line_is_named(tmp_path, line, message):
    path = tmp_path / "bad"
    path.write_text(f'{{"role": "AI", "text": "x"}}\n\n{line}\n', "utf-8")
    with pytest.raises(ValueError, match=rf"^{FIRST}, line 3: {message}"):
        list(api_bank.rows({FIRST: path}))


def test_an_api_file_that_is_not_python_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"^api-bank/apis/bad.py, line 2: "):
        list(api_bank.rows(api_files(tmp_path, {"bad.py": "x = 1\nclass :\n"})))


def test_the_pinned_samples_are_those_of_the_published_list():
    samples = [file for file in sources()[3][0].files if not file.pattern]
    paths = {file.path.removeprefix("api-bank/"): file.sha256 for file in samples}
    listed = "".join(f"{paths[path]}  {path}\n" for path in sorted(paths))
    assert hashlib.sha256(listed.encode()).hexdigest() == SAMPLES_DIGEST
    assert (len(samples), sum(file.size for file in samples)) == (264, 415674)


def test_rows_of_the_real_dialogues_have_the_published_counts_and_sizes(shared, tmp_path):
    """All rows hold one catalogue; with a stand-in of bare names each lacks as many bytes as the others."""
    files = real_files(shared, 3)
    texts = (text for path in files.values() for text in path.read_text("utf-8").split("\n") if text.strip())
    names = NEVER_CALLED | {line["api_name"] for line in map(json.loads, texts) if line["role"] == "API"}
    assert len(names) == 53
    apis = api_files(tmp_path, {f"{name}.py": f"class {name}: pass" for name in names})
    rows = [row for _track, row in api_bank.rows(files | apis)]
    folders = Counter(row["metadata"]["provenance"]["source"].split("/")[-2] for row in rows)
    assert folders == {"level-1-given-desc": 389, "level-2-toolsearcher": 119}
    lacking, rest = divmod(NORMALIZED_SIZE - sum(len(PLAIN(row)) + 1 for row in rows), len(rows))
    assert (lacking, rest) == (18969, 0)
    row_of = {row["id"]: row for row in rows}
    published = published_requests(shared, 3)
    assert len(published) == 4
    for request in published:
        row = row_of[request["group_id"]]
        assert (len(payload_text(row["state"], row["questions"])) + lacking) // 4 == request["proxy_tokens"]
