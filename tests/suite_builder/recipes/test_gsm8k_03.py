"""GSM8K of edition 0.3 from the real source, and groups of made-up right numbers."""

import hashlib
from decimal import Decimal

import pytest
from recipe_sources import real_files, write_json_lines

from suite_builder.recipes import gsm8k_03
from suite_builder.recipes.gsm8k_03 import groups
from suite_builder.rows import frozen_json

SHA256 = "759334894858a37d6bd7bd07298eac8e55da236e31dad327ccd06a9979f4738a"
SOURCE_SHA256 = "ee7b8da9e381df27b9e3f7758a159ab2bdaa4dbaa910546cbbc47e0cb44e4f59"
# (track, index): options in shown order, gold, group, band, payload_sha256, proxy_tokens; published check rows
CHECK_ROWS = {
    ("4", 0): (
        "50 20 23 18", 3, "G070", (400, 32),
        "bdf797dbe70bde3880a26ae600a1554a543f32b0bc1a2b6233b046a05478407f", 161,
    ),
    ("4", 1): (
        "3 5 2 6", 0, "G039", (0, 40),
        "d8ba007f75a73f6f06865a4532198f7ded3576059486e50760cdf403b15027f1", 117,
    ),
    ("4", 968): (
        "225 227 230 235", 1, "G131", None,
        "1c47d52919390dbb00c850ce06b120336c6172f6889bcb5a61b38da98d422927", 215,
    ),
    ("4", 1318): (
        "2 12 15 14", 3, "G025", (0, 40),
        "f4bc68042f528a39426b8d14108593faf60f075833a8ccc8151990c85671393a", 137,
    ),
    ("10", 0): (
        "48 32 25 50 18 36 30 23 40 20", 4, "G070", (400, 32),
        "dd6f09c17324e9b1cfe1f47aa8cdc528938cb3035bd33d1d0c091630fc7d60e8", 186,
    ),
    ("10", 1): (
        "15 3 10 5 2 16 7 12 9 6", 1, "G039", (0, 40),
        "d0cbd7813076aa376fdec0628509816d3b63c68e07bfea80e1f72a130c4d5877", 140,
    ),
    ("10", 968): (
        "230 243 225 235 245 240 251 247 227 250", 8, "G131", None,
        "d2b3a989fdf12e8f01c205415b4888a000543d7315a0432a5b285e76191d48da", 240,
    ),
    ("10", 1318): (
        "4 15 10 8 3 12 14 5 2 7", 6, "G025", (0, 40),
        "e0da7362e2be5013e722ad2ffa9cf0e6dd61170904e3643b88e97009cebe9879", 160,
    ),
}
BANDS = [
    (0, 40), (400, 32), (720, 20), (920, 17), (1090, 6), (1150, 3), (1180, 3), (1210, 2), (1230, 4), (1270, 1),
    (1280, 1), (1290, 1), (1300, 1),
]


def decimals(*numbers) -> list[Decimal]:
    return [Decimal(number) for number in numbers]


def options(row) -> list[str]:
    return list(row["questions"]["answer"]["criteria"].values())


# The real source


def test_rows_of_the_real_source_are_the_published_ones(shared):
    rows = list(gsm8k_03.rows(real_files(shared, 30)))
    text = "".join(f"{frozen_json(row)}\n" for row in rows).encode()
    assert (len(rows), len(text), hashlib.sha256(text).hexdigest()) == (2638, 4474866, SHA256)
    by_run_id = {row["_evaluation"]["run_id"]: row for row in rows}
    for (track, index), (shown, gold, group, band, payload_sha256, proxy_tokens) in CHECK_ROWS.items():
        row = by_run_id[f"v0.3-gsm8k:30:GSM8K-{track}choice:GSM8K-{track}:test:{index}"]
        assert options(row) == shown.split()
        assert row["expected"] == {"answer": f"option_{gold}"}
        assert (row["metadata"]["answer_group"]["id"], row["metadata"]["answer_group"]["band"]) == (group, band)
        assert row["_evaluation"]["payload_sha256"] == payload_sha256
        assert row["_evaluation"]["proxy_tokens"] == proxy_tokens


def test_groups_of_the_real_source_are_the_published_ones(shared):
    rows = list(gsm8k_03.rows(real_files(shared, 30)))[:1319]
    made = {row["metadata"]["answer_group"]["id"]: row["metadata"]["answer_group"] for row in rows}
    assert sorted(made) == [f"G{number:03}" for number in range(132)]
    assert list(dict.fromkeys(made[name]["band"] for name in sorted(made))) == [*BANDS, None]
    assert made["G070"]["source_ids"] == [0, 54, 65, 312, 362, 400, 413, 432, 804, 1151]
    assert made["G039"]["source_ids"] == [1, 473, 660, 766, 802, 840, 1148, 1170, 1247, 1260]
    assert made["G131"]["source_ids"] == [16, 26, 752, 936, 961, 968, 1064, 1067, 1261]


# Hand-made


def test_row_in_full(tmp_path):
    problems = [{"question": f"What’s {number}?", "answer": f"#### {number}.0"} for number in range(11, 21)]
    rows = list(gsm8k_03.rows({"grade_school_math/data/test.jsonl": write_json_lines(tmp_path / "t", problems)}))
    assert frozen_json(rows[0]) == (
        '{"id":"GSM8K-4:test:0","family":"GSM8K-4","split":"test","state":{"question":"What’s 11?",'
        '"task":"GSM8K deterministic 4-choice numeric selection"},"questions":{"answer":{"type":"choice",'
        '"instructions":"Choose the numeric answer to the problem in state. Do not provide reasoning. This is a named '
        'multiple-choice adaptation of GSM8K.",'
        '"criteria":{"option_0":"20","option_1":"12","option_2":"13","option_3":"11"}}},'
        '"expected":{"answer":"option_3"},"metadata":{"group_id":"GSM8K:0",'
        '"provenance":{"source":"data/sources/gsm8k/main/test-00000-of-00001.parquet",'
        f'"source_sha256":"{SOURCE_SHA256}","source_id":0,"seed":20261003}},'
        '"adaptation_scope":"Deterministic numeric multiple-choice selection; native GSM8K exact-answer score is not '
        'claimed.","gold_numeric":"11","distractor_method":"answer-groups-v1",'
        '"answer_group":{"id":"G000","band":[0,1],"source_ids":[0,1,2,3,4,5,6,7,8,9]},'
        '"replaces_run_id":"30:GSM8K-4choice:GSM8K-4:test:0"},'
        '"_evaluation":{"run_id":"v0.3-gsm8k:30:GSM8K-4choice:GSM8K-4:test:0","catalog_id":30,"dataset":"GSM8K",'
        '"group_id":"GSM8K:0","track":"GSM8K-4choice","source_path":"gsm8k-rows.jsonl",'
        '"payload_sha256":"43e90d8179ee4310dfbe25b214ad646ae4ad8ec3c9262be00947d701fa32249c","proxy_tokens":94,'
        '"benchmark_origin":"Jev-adapted benchmarks",'
        '"source_run_id":"30:GSM8K-4choice:GSM8K-4:test:0","edition":"0.3"}}'
    )
    assert [row["_evaluation"]["track"] for row in rows] == ["GSM8K-4choice"] * 10 + ["GSM8K-10choice"] * 10
    assert all(sorted(options(row)) == [str(number) for number in range(11, 21)] for row in rows[10:])


def test_shifts_are_the_published_ones():
    made = groups(decimals(*range(1320)))
    assert [group.shift for group in made[:12]] == [1, 0, 2, 3, 2, 3, 0, 1, 3, 0, 2, 1]
    assert [group.shift for group in made[-4:]] == [0, 3, 2, 1]


def test_a_window_of_four_holds_the_right_number_and_its_neighbours_in_a_ring():
    first = groups(decimals(*range(10)))[0]
    assert first.shift == 1
    assert first.options(Decimal(5), 4) == decimals(4, 5, 6, 7)
    assert first.options(Decimal(0), 4) == decimals(9, 0, 1, 2)
    assert first.options(Decimal(9), 4) == decimals(8, 9, 0, 1)


def test_a_band_is_as_wide_as_its_most_frequent_number():
    golds = decimals(*[1, 1, 1], *range(2, 29), *range(100, 110))
    made = groups(golds)
    assert [group.band for group in made] == [(0, 3)] * 3 + [(30, 1)]
    assert all(len({golds[member] for member in group.members}) == 10 for group in made)
    assert sorted(member for group in made for member in group.members) == list(range(40))


def test_a_tail_that_makes_no_band_joins_the_one_before_it():
    made = groups(decimals(*range(10), 11, 11, *range(12, 20)))
    assert [group.band for group in made] == [(0, 2), (0, 2)]
    assert all(len(set(group.values)) == 10 for group in made)


def test_left_over_problems_make_the_last_group_filled_up_from_above_then_below():
    golds = decimals(*range(27))
    made = groups(golds)
    last = made[-1]
    assert [group.name for group in made] == ["G000", "G001", "G002"]
    assert last.band is None
    assert len(last.members) == 7
    own = [golds[member] for member in last.members]
    assert own == sorted(own) == last.values[:7]
    higher = [gold for gold in golds if gold > own[-1]]
    lower = [gold for gold in reversed(golds) if gold < own[0]]
    assert last.values[7:] == (higher + lower)[:3]
    assert sorted(member for group in made for member in group.members) == list(range(27))


@pytest.mark.parametrize("golds", [[5] * 20, [*range(8), *[9] * 12], [1] * 15])
def test_numbers_too_much_alike_are_refused(golds):
    with pytest.raises(ValueError, match="too much alike"):
        groups(decimals(*golds))
