"""PhishNChips: whether an e-mail is phishing, asked in nine ways of which the first counts."""

import csv
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.data_files import load_json
from suite_builder.recipes.common import added_row
from suite_builder.recipes.records import naming, places

CATALOG_ID = 56
DATA = ("phishnchips.json",)

FILE = "core_emails.csv"
SEED = 20260916
QUESTIONS = load_json(*DATA)
STATE_KEYS = ("sender", "from", "subject", "body", "link_display_text", "link_url")
TRACK = "native-nine-question"


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """One row per record, shuffled.

    Raises:
        ValueError: a malformed record; names file and record.
    """
    shuffled = list(_rows(files[FILE]))
    random.Random(SEED).shuffle(shuffled)
    yield from shuffled


def _rows(file: Path) -> Iterator[dict]:
    # With newline translation, as the published rows were made.
    with file.open(encoding="utf-8") as stream:
        for place, record in places(FILE, csv.DictReader(stream)):
            with naming(place):
                if None in record or None in record.values():
                    raise ValueError("it has not as many fields as the header")
                yield _row(record)


def _row(record: Mapping[str, str]) -> dict:
    email = json.loads(record["email_content"])
    phishing = int(record["phish_label"]) != 0
    verdict = "phishing" if phishing else "legitimate"
    expected = dict.fromkeys(QUESTIONS) | {
        "verdict": verdict,
        "is_phishing": phishing,
        "verdict_alt_click": "do_not_click" if phishing else "click",
        "verdict_alt_minimal": verdict,
    }
    row = added_row(
        CATALOG_ID, record["id"], TRACK, {key: email[key] for key in STATE_KEYS}, QUESTIONS["verdict"], verdict,
        datasource=record["datasource"], url_category=record["url_category"], strategy=record["strategy"],
    )
    return row | {
        "questions": QUESTIONS,
        "expected": expected,
        "scoring": {
            "type": "calibration_decisions",
            "primary_field": "verdict",
            "unscored_fields": [key for key, gold in expected.items() if gold is None],
        },
    }
