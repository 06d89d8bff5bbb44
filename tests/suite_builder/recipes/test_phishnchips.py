"""PhishNChips from hand-made CSV files in the form of the pinned one, which isn't at hand."""

import csv
import json

import pytest
from added_examples import assert_example, example

from suite_builder.recipes import phishnchips
from suite_builder.rows import frozen_json, sha256_text

FILE = "core_emails.csv"
COLUMNS = ("id", "url_raw", "phish_label", "email_content", "strategy", "url_category", "datasource", "model_used")
EMAIL = {
    "subject": "S", "sender": "Zed", "from": "z@example.org", "body": "Héllo,\r\n\"look\".",
    "link_url": "https://x.org", "link_display_text": "", "extra": 1,
}


def email(number, **change):
    values = (f"e{number}", "https://x.org", "0", json.dumps(EMAIL), "s", "c", "d", "m")
    return dict(zip(COLUMNS, values, strict=True)) | change


def sources(folder, records, columns=COLUMNS):
    file = folder / "core_emails.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerows([columns, *(record.values() for record in records)])
    return {FILE: file}


def build(folder, records, **more):
    return list(phishnchips.rows(sources(folder, records, **more)))


def test_the_published_example_gives_its_lines(tmp_path):
    assert_example(phishnchips, sources(tmp_path, example(56)["input"]))


def test_the_questions_are_the_published_ones():
    text = frozen_json(phishnchips.QUESTIONS)
    assert len(text) == 2090
    assert sha256_text(text) == "dd4fe25edefec68155b89522485abe6e0963e61a6ef0a912c0dca5be50b7430c"


def test_2000_records_come_in_the_published_order(tmp_path):
    order = [int(row["id"].removeprefix("56:e")) for row in build(tmp_path, map(email, range(2000)))]
    assert order[:10] == [57, 1725, 650, 119, 568, 1606, 622, 1719, 400, 1923]
    assert order[-5:] == [1929, 783, 1397, 87, 1356]


def test_row_in_full_but_for_the_questions(tmp_path):
    [row] = build(tmp_path, [email(0, phish_label="1", strategy="two\r\nlines", url_category="")])
    assert frozen_json(row | {"questions": list(row["questions"])}) == (
        '{"id":"56:e0","benchmark":"PhishNChips phishing decisions","family":"PhishNChips phishing decisions",'
        '"split":"evaluation","state":{"sender":"Zed","from":"z@example.org","subject":"S",'
        '"body":"Héllo,\\r\\n\\"look\\".","link_display_text":"","link_url":"https://x.org"},'
        '"questions":["verdict","is_phishing","sig_domain_mismatch","sig_free_hosting","sig_lure","sig_urgency",'
        '"sig_generic_sender","verdict_alt_click","verdict_alt_minimal"],'
        '"expected":{"verdict":"phishing","is_phishing":true,"sig_domain_mismatch":null,"sig_free_hosting":null,'
        '"sig_lure":null,"sig_urgency":null,"sig_generic_sender":null,"verdict_alt_click":"do_not_click",'
        '"verdict_alt_minimal":"phishing"},"metadata":{"source_id":"e0","group_id":"56:e0",'
        '"track":"native-nine-question","datasource":"d","url_category":"","strategy":"two\\nlines"},'
        '"scoring":{"type":"calibration_decisions","primary_field":"verdict","unscored_fields":["sig_domain_mismatch",'
        '"sig_free_hosting","sig_lure","sig_urgency","sig_generic_sender"]}}'
    )


def test_any_label_but_0_is_phishing(tmp_path):
    labels = {"e0": "0", "e1": "1", "e2": "00", "e3": "2"}
    rows = build(tmp_path, [email(number, phish_label=label) for number, label in enumerate(labels.values())])
    assert {row["metadata"]["source_id"]: row["expected"]["is_phishing"] for row in rows} == {
        "e0": False, "e1": True, "e2": False, "e3": True,
    }


@pytest.mark.parametrize(
    "change, message",
    [
        ({"phish_label": "yes"}, "invalid literal for int"),
        ({"email_content": "{"}, "Expecting property name"),
        ({"email_content": '{"sender": "Zed"}'}, "'from' is missing"),
        ({"one": "more"}, "it has not as many fields as the header"),
    ],
)
def test_a_malformed_record_is_named_by_its_place_in_the_file(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^{FILE}, record 1: {message}"):
        build(tmp_path, [email(0), email(1, **change), email(2)])


def test_a_short_record_is_named(tmp_path):
    short = email(1)
    del short["model_used"]
    with pytest.raises(ValueError, match=f"^{FILE}, record 1: it has not as many fields as the header$"):
        build(tmp_path, [email(0), short])


def test_a_changed_header_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^{FILE}, record 0: 'phish_label' is missing$"):
        build(tmp_path, [email(0)], columns=[column.replace("phish_", "") for column in COLUMNS])
