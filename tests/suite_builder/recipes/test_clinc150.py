"""CLINC150+OOS from the real source, and from a hand-made file."""

import pytest
from recipe_sources import write_json

from suite_builder.recipes import clinc150
from suite_builder.recipes.common import PLAIN

SHA256 = "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0"
DATA = {
    "oos_val": [["no", "oos"]],
    "val": [["ignored", "other_label"]],
    "train": [["a", "who_do_you_work_for"], ["b", "account_blocked"], ["c", "account_blocked"], ["d", "yes"]],
    "oos_test": [["how high is it", "oos"]],
    "test": [["¿é {}?  ", "who_do_you_work_for"], ["yep", "yes"]],
    "oos_train": [],
}


def build(folder, **changes):
    return list(clinc150.rows({"data_full.json": write_json(folder / "data_full.json", DATA | changes)}))


def test_options_are_the_sorted_labels_of_train_and_out_of_scope(tmp_path):
    (track, first), (_, second), (_, third) = build(tmp_path)
    assert track == "CLINC150+OOS"
    assert PLAIN(first) == (
        '{"id":"CLINC150+OOS:test:0","benchmark":"CLINC150+OOS","family":"CLINC150+OOS","split":"test","state":{},'
        '"questions":{"q1":{"type":"choice","instructions":"Classify the intent of this user request, or choose out of '
        'scope if none applies:\\n\\u00bf\\u00e9 {}?  ","criteria":{"option_0":"account blocked",'
        '"option_1":"out of scope: none of the listed intents","option_2":"who do you work for","option_3":"yes"}}},'
        '"gold":{"q1":"option_2"},"expected":{"q1":"option_2"},"provenance":{"source_id":"0",'
        f'"source_file":"raw/clinc150/data_full.json","source_sha256":"{SHA256}",'
        '"label_names":["account_blocked","oos","who_do_you_work_for","yes"]}}'
    )
    assert (second["id"], second["gold"]) == ("CLINC150+OOS:test:1", {"q1": "option_3"})
    assert (third["id"], third["split"]) == ("CLINC150+OOS:oos_test:0", "oos_test")
    assert third["gold"] == {"q1": "option_1"}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"test": [["x", "yes"], ["y", "other_label"]]}, "test, record 1: answer 'other_label' is none of"),
        ({"oos_test": [["x", "yes", "z"]]}, "oos_test, record 0: too many values"),
        ({"oos_test": [["x"]]}, "oos_test, record 0: not enough values"),
        ({"test": [[None, "yes"]]}, "test, record 0: expected str, found None"),
        ({"train": [["x", "yes"], ["y", None]]}, "train, record 1: expected str, found None"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, changes, message):
    with pytest.raises(ValueError, match=rf"^data_full.json, {message}"):
        build(tmp_path, **changes)


@pytest.mark.parametrize("split", ["train", "test", "oos_test"])
def test_a_missing_split_is_named(tmp_path, split):
    file = write_json(tmp_path / "d.json", {key: value for key, value in DATA.items() if key != split})
    with pytest.raises(ValueError, match=rf"^data_full.json: '{split}' is missing$"):
        list(clinc150.rows({"data_full.json": file}))
