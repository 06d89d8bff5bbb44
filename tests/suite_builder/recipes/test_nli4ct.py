"""NLI4CT from the real source, and from a hand-made one."""

from zipfile import ZipFile

import pytest
from recipe_sources import write_json

from suite_builder.recipes import nli4ct
from suite_builder.recipes.common import PLAIN

SINGLE = {"Type": "Single", "Section_id": "Adverse Events", "Primary_id": "NCT2", "Statement": " 'all {é} had it.\n"}
COMPARISON = {
    "Type": "Comparison", "Section_id": "Results", "Primary_id": "NCT1", "Secondary_id": "NCT2", "Statement": "same",
}
ITEMS = {"b-uuid": SINGLE, "a-uuid": COMPARISON}
LABELS = {
    "a-uuid": {**COMPARISON, "Label": "Entailment"},
    "b-uuid": {**SINGLE, "Label": "Contradiction", "Intervention": "Paraphrase", "Causal_type": "Preserving"},
}
TRIALS = {
    "NCT1": {"Clinical Trial ID": "NCT1", "Results": ["Outcome: ", "  12"], "Adverse Events": []},
    "NCT2": {"Clinical Trial ID": "NCT2", "Results": ["none"], "Adverse Events": ["  Total: 0/1 (0.00%)", ""]},
}


def build(folder, items=ITEMS, labels=LABELS, trials=TRIALS):
    archive = folder / "training_data.zip"
    with ZipFile(archive, "w") as stream:
        stream.writestr("CT json/", "")
        stream.writestr("__MACOSX/CT json/._NCT1.json", b"\x00\x05")
        for trial_id, trial in trials.items():
            stream.write(write_json(folder / "trial.json", trial), f"CT json/{trial_id}.json")
        stream.writestr("train.json", "{}")
    files = {
        "test.json": write_json(folder / "test.json", items),
        "gold_test.json": write_json(folder / "gold_test.json", labels),
        "training_data.zip": archive,
    }
    return [row for _track, row in nli4ct.rows(files)]


def test_row_of_a_single_trial_in_full(tmp_path):
    first, _ = build(tmp_path)
    assert PLAIN(first) == (
        '{"id":"NLI4CT-2024:test:b-uuid","family":"NLI4CT-2024","split":"test","state":{"primary_trial":{"id":"NCT2",'
        '"section":"Adverse Events","text":["  Total: 0/1 (0.00%)",""]}},"questions":{"answer":{"type":"choice",'
        '"instructions":"Classify the statement against the supplied clinical trial evidence:'
        '\\n \'all {\\u00e9} had it.\\n",'
        '"criteria":{"Entailment":"The clinical trial evidence entails the statement.",'
        '"Contradiction":"The clinical trial evidence contradicts the statement."}}},'
        '"expected":{"answer":"Contradiction"},"metadata":{"benchmark_number":42,'
        '"source":"https://github.com/ai-systems/Task-2-SemEval-2024",'
        '"source_revision":"7f32fa6c7db43e577f22e9fc6c28eef1cc6d223e",'
        '"source_file":"artifacts/benchmark-suite/raw/repos/nli4ct/test.json",'
        '"source_sha256":"0010171d1489998361a7bea7ce633aef74f92010419c5a4e92ee17f6c36e8ba8",'
        '"gold_sha256":"fd2360a8a2077e9fc56e6c5e8128d698d05e0be9492682578b0768f0a222ed93",'
        '"trial_archive_sha256":"ed3d9819cfebd2d1d5d70fd786323c904b341470f8dc173af39946f70a0e5b9f",'
        '"primary_metric":"entailment F1; original consistency/faithfulness metrics require upstream grouping",'
        '"context_rule":"complete indicated clinical-trial section, no gold evidence selection",'
        '"archive_note":"training_data.zip also contains the trial documents used by test; no training statements '
        'emitted",'
        '"source_id":"b-uuid","trial_ids":["NCT2"]}}'
    )


def test_rows_follow_the_statements_and_a_comparison_shows_both_trials(tmp_path):
    _, second = build(tmp_path)
    assert second["id"] == "NLI4CT-2024:test:a-uuid"
    assert list(second["state"].items()) == [
        ("primary_trial", {"id": "NCT1", "section": "Results", "text": ["Outcome: ", "  12"]}),
        ("secondary_trial", {"id": "NCT2", "section": "Results", "text": ["none"]}),
    ]
    assert second["expected"] == {"answer": "Entailment"}
    assert second["metadata"]["trial_ids"] == ["NCT1", "NCT2"]


def changed(entry, **changes):
    return {key: value for key, value in (entry | changes).items() if value is not None}


@pytest.mark.parametrize(
    "item, label, message",
    [
        (COMPARISON, {"Label": "Neutral"}, "label 'Neutral' is none of Entailment, Contradiction"),
        (COMPARISON, {"Label": None}, "'Label' is missing"),
        (COMPARISON, {"Statement": "other"}, "gold_test.json has another statement, section or trial"),
        (COMPARISON, {"Secondary_id": None}, "gold_test.json has another statement, section or trial"),
        (changed(COMPARISON, Primary_id=None), {"Primary_id": None}, "'Primary_id' is missing"),
        (changed(COMPARISON, Primary_id="NCT3"), {"Primary_id": "NCT3"}, "training_data.zip: .*'CT json/NCT3.json'"),
        (changed(COMPARISON, Section_id="Notes"), {"Section_id": "Notes"}, "'Notes' is missing"),
        (changed(COMPARISON, Statement=None), {"Statement": None}, "'Statement' is missing"),
    ],
)
def test_a_malformed_item_is_named(tmp_path, item, label, message):
    labels = LABELS | {"a-uuid": changed(LABELS["a-uuid"], **label)}
    with pytest.raises(ValueError, match=rf"^test.json, item a-uuid: {message}"):
        build(tmp_path, ITEMS | {"a-uuid": item}, labels)


def test_a_section_that_is_no_list_is_named(tmp_path):
    trials = TRIALS | {"NCT1": {"Results": "one text"}}
    with pytest.raises(ValueError, match="^test.json, item a-uuid: expected list, found 'one text'"):
        build(tmp_path, trials=trials)


def test_statements_without_labels_are_refused(tmp_path):
    with pytest.raises(ValueError, match="^test.json and gold_test.json do not hold the same items$"):
        build(tmp_path, labels={"b-uuid": LABELS["b-uuid"]})
