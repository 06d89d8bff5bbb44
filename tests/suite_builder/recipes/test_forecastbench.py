"""ForecastBench from hand-made files in the form of the pinned ones, which aren't at hand."""

import json

import pytest
from recipe_sources import sha256

from suite_builder.recipes import forecastbench
from suite_builder.recipes.common import PLAIN

QUESTION_FILE = "datasets/question_sets/{}-llm.json"
RESOLUTION_FILE = "datasets/resolution_sets/{}_resolution_set.json"
DUE = "2026-02-01"
MARKET = {
    "id": "m1", "source": "manifold", "question": "Will é win by {resolution_date}?", "resolution_criteria": "N/A",
    "background": " As of {forecast_due_date}. ", "market_info_open_datetime": "2026-01-01T00:00:00+00:00",
    "market_info_close_datetime": "N/A", "market_info_resolution_criteria": "N/A", "url": "https://example.org/m1",
    "freeze_datetime": "2026-01-22T00:00:00+00:00", "freeze_datetime_value": "0.3",
    "freeze_datetime_value_explanation": "The market value.", "source_intro": "A market.", "combination_of": "N/A",
    "resolution_dates": "N/A",
}
SERIES = {
    "id": "DFF", "source": "fred", "question": "Will DFF rise between {forecast_due_date} and {resolution_date}?",
    "resolution_criteria": "By its page.", "background": "N/A", "freeze_datetime": "2026-02-01T23:59:59+00:00",
    "freeze_datetime_value": 4.5, "freeze_datetime_value_explanation": "N/A", "combination_of": "N/A",
}
PAIR = {"id": ["DFF", "m1"], "source": "fred", "question": "Both?", "combination_of": [SERIES, MARKET]}


def resolved(question, **change):
    record = {
        "id": question["id"], "source": question["source"], "direction": None, "resolution_date": "2026-07-26",
        "resolved_to": 1.0, "resolved": True,
    }
    return record | change


def sources(folder, rounds, **change):
    """Write rounds, due date -> (questions, resolutions). change: of what a resolution file says of its round."""
    files = {}
    for due, (questions, resolutions) in rounds.items():
        names = {"forecast_due_date": due, "question_set": f"{due}-llm.json"}
        for path, content in (
            (QUESTION_FILE, names | {"questions": questions}),
            (RESOLUTION_FILE, names | {"resolutions": resolutions} | change),
        ):
            file = files[path.format(due)] = folder / path.format(due).rpartition("/")[2]
            file.write_text(json.dumps(content, indent=4), "utf-8")
    return files


def build(folder, resolutions, questions=(MARKET, SERIES, PAIR), **change):
    return [row for _track, row in forecastbench.rows(sources(folder, {DUE: (questions, resolutions)}, **change))]


def test_row_of_an_event_in_full(tmp_path):
    files = sources(tmp_path, {DUE: ([MARKET], [resolved(SERIES), resolved(MARKET)])})
    [(track, row)] = forecastbench.rows(files)
    assert track == "ForecastBench-binary"
    folder = "artifacts/benchmark-suite/raw/repos/forecastbench-datasets/datasets"
    assert PLAIN(row) == (
        '{"id":"ForecastBench:2026-02-01_resolution_set:1","family":"ForecastBench-binary","split":"evaluation-only",'
        '"state":{"forecast_as_of":"2026-02-01","resolution_date":"2026-07-26","information_policy":"Use the frozen '
        "pre-forecast information below. No browsing. Market aggregate probability is omitted in this unaided track.\","
        '"event":{"question":"Will \\u00e9 win by 2026-07-26?","background":" As of 2026-02-01. ",'
        '"source_intro":"A market.","market_info_open_datetime":"2026-01-01T00:00:00+00:00",'
        '"url":"https://example.org/m1","freeze_datetime":"2026-01-22T00:00:00+00:00"}},'
        '"questions":{"answer":{"type":"choice","instructions":"Estimate the probability that the event in state '
        'resolves Yes, using only information available as of the forecast date.","criteria":{'
        '"yes":"The specified event/conjunction occurs.","no":"The specified event/conjunction does not occur."}}},'
        '"expected":{"answer":"yes"},"scoring":{"type":"forecast_probability",'
        '"scorer":"evaluation.adapters.forecastbench:score_probability","primary":"Brier score",'
        '"secondary":["log_loss","accuracy"]},"metadata":{"group_id":"2026-02-01_resolution_set:1",'
        '"underlying_event_groups":["manifold:m1"],"round":"2026-02-01","direction":null,"source":"manifold",'
        f'"resolution_date":"2026-07-26","provenance":{{"question_source":"{folder}/question_sets/2026-02-01-llm.json",'
        f'"resolution_source":"{folder}/resolution_sets/2026-02-01_resolution_set.json","resolution_index":1,'
        f'"question_sha256":"{sha256(files[QUESTION_FILE.format(DUE)])}",'
        f'"resolution_sha256":"{sha256(files[RESOLUTION_FILE.format(DUE)])}"}},'
        '"cutoff_assumption":"User accepts resolutions July2026 onward; Jev knowledge cutoff is unpublished, so '
        'contamination is not certified."}}'
    )


def test_combination_asks_for_the_joint_outcome_of_its_components(tmp_path):
    [row] = build(tmp_path, [resolved(PAIR, direction=[-1, 1.0], resolved_to=0)])
    assert row["expected"] == {"answer": "no"}
    assert PLAIN(row["state"]["component_events"]) == (
        '[{"name":"event_1","event":{"question":"Will DFF rise between 2026-02-01 and 2026-07-26?",'
        '"resolution_criteria":"By its page.","freeze_datetime":"2026-02-01T23:59:59+00:00",'
        '"freeze_datetime_value":4.5,"freeze_datetime_value_explanation":"N/A"},"required_outcome":"no"},'
        '{"name":"event_2","event":{"question":"Will \\u00e9 win by 2026-07-26?","background":" As of 2026-02-01. ",'
        '"source_intro":"A market.","market_info_open_datetime":"2026-01-01T00:00:00+00:00",'
        '"url":"https://example.org/m1","freeze_datetime":"2026-01-22T00:00:00+00:00"},"required_outcome":"yes"}]'
    )
    assert list(row["state"]) == ["forecast_as_of", "resolution_date", "information_policy", "component_events"]
    assert row["questions"]["answer"]["instructions"] == (
        "Estimate the probability that ALL component events have their specified required_outcome. This is a joint "
        "conjunction probability, not a conditional probability. Use only information available as of the forecast "
        "date."
    )
    assert row["metadata"]["underlying_event_groups"] == ["fred:DFF", "manifold:m1"]
    assert PLAIN(row["metadata"]["direction"]) == "[-1,1.0]"
    assert row["metadata"]["source"] == "fred"


def test_rounds_come_in_name_order_and_positions_count_every_resolution(tmp_path):
    rounds = {
        "2026-03-01": ([MARKET], [resolved(MARKET)]),
        "2026-02-01": ([MARKET], [resolved(MARKET, resolved=False), resolved(MARKET), resolved(SERIES)]),
    }
    assert [row["metadata"]["group_id"] for _track, row in forecastbench.rows(sources(tmp_path, rounds))] == [
        "2026-02-01_resolution_set:1", "2026-03-01_resolution_set:0",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"id": "m2"},
        {"source": "infer"},
        {"resolved": False},
        {"resolved": 1},
        {"resolved_to": 0.37},
        {"resolved_to": True},
        {"resolved_to": None},
        {"resolved_to": float("nan")},
        {"resolution_date": "2026-06-30"},
        {"resolution_date": "2026-09-19"},
        {"direction": [1]},
    ],
)
def test_unusable_resolutions_are_left_out(tmp_path, change):
    rows = build(tmp_path, [resolved(MARKET, **change), resolved(SERIES)])
    assert [row["metadata"]["source"] for row in rows] == ["fred"]


@pytest.mark.parametrize("direction", [[1], [1, 1, 1], [1, 0], [1, None], 1, "11"])
def test_a_combination_without_a_sign_for_each_component_is_left_out(tmp_path, direction):
    assert build(tmp_path, [resolved(PAIR, direction=direction)]) == []


def test_the_window_includes_its_ends_and_starts_when_the_round_is_due(tmp_path):
    days = ("2026-07-01", "2026-07-31", "2026-08-01", "2026-09-18")
    resolutions = [resolved(MARKET, resolution_date=day) for day in days]
    for due, kept in ((DUE, days), ("2026-08-01", days[2:])):
        rows = forecastbench.rows(sources(tmp_path, {due: ([MARKET], resolutions)}))
        assert tuple(row["state"]["resolution_date"] for _track, row in rows) == kept


def test_of_resolutions_that_ask_the_same_the_first_stays(tmp_path):
    # Another id and another freeze value make no difference to what a market's question tells.
    twin = MARKET | {"id": "m9", "freeze_datetime_value": "0.4"}
    rows = build(tmp_path, [resolved(twin), resolved(MARKET), resolved(SERIES)], [MARKET, SERIES, twin])
    assert [row["metadata"]["underlying_event_groups"] for row in rows] == [["manifold:m9"], ["fred:DFF"]]


@pytest.mark.parametrize(
    "resolution, questions, message",
    [
        (resolved(MARKET, resolved_to=0), [MARKET], "an earlier record asks the same and has the other answer"),
        (resolved(SERIES, source="other"), [MARKET, SERIES | {"source": "other"}], "unknown source 'other'"),
        (
            resolved(SERIES),
            [MARKET, SERIES | {"freeze_datetime": "2026-02-02T00:00:00"}],
            "it was frozen on 2026-02-02T00:00:00, after it was due on 2026-02-01",
        ),
        (
            resolved(PAIR, direction=[1, 1]),
            [MARKET, PAIR | {"combination_of": [MARKET, SERIES]}],
            r"question \['DFF', 'm1'\] is made of \['m1', 'DFF'\]",
        ),
        (resolved(PAIR), [MARKET, PAIR], r"question \['DFF', 'm1'\] is made of \["),
        ({"id": "m1", "source": "manifold"}, [MARKET], "'resolved_to' is missing"),
    ],
)
def test_a_bad_record_is_named(tmp_path, resolution, questions, message):
    with pytest.raises(ValueError, match=f"^{RESOLUTION_FILE.format(DUE)}, record 1: {message}"):
        build(tmp_path, [resolved(MARKET), resolution], questions)


def test_a_question_file_that_does_not_fit_is_named(tmp_path):
    resolution_path, question_path = RESOLUTION_FILE.format(DUE), QUESTION_FILE.format(DUE)
    due = f"^{question_path}: it is due on 2026-02-01, but {resolution_path} on 2026-02-02$"
    with pytest.raises(ValueError, match=due):
        build(tmp_path, [resolved(MARKET)], forecast_due_date="2026-02-02")
    with pytest.raises(ValueError, match=f"^{question_path}: two questions have the same source and id$"):
        build(tmp_path, [resolved(MARKET)], [MARKET, SERIES, MARKET])
    with pytest.raises(ValueError, match="^datasets/question_sets/2026-01-01-llm.json is not among the source files$"):
        build(tmp_path, [resolved(MARKET)], question_set="2026-01-01-llm.json")


def test_a_damaged_file_is_named(tmp_path):
    files = sources(tmp_path, {DUE: ([MARKET], [resolved(MARKET)])})
    path = QUESTION_FILE.format(DUE)
    files[path].write_text('{"questions": [')
    with pytest.raises(ValueError, match=f"^{path}: Expecting value"):
        list(forecastbench.rows(files))
