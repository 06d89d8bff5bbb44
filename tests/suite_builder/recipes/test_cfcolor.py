"""cfcolor from hand-made MATLAB files; the real archive was not at hand."""

import hashlib
import random

import numpy
import pytest
from scipy.io import savemat

from suite_builder.recipes import cfcolor
from suite_builder.recipes.common import PLAIN
from suite_builder.rows import payload_text, sha256_text

RATINGS, THEMES = "release/allMTurkRatings.mat", "release/themeData.mat"
PALETTES = [[(7 * palette + channel) % 256 / 255 for channel in range(15)] for palette in range(40)]
PALETTES[30] = PALETTES[31]  # numbers 31 and 32 look the same
PALETTES[29] = [0.0, 1.0, 0.5, *[127.5 / 255, 128.5 / 255, 0.00195] * 4]


def build(folder, train, test, palettes=PALETTES):
    savemat(folder / "r.mat", {"train_vec": matrix(train), "test_vec": matrix(test), "probe_vec": matrix(test)})
    savemat(folder / "t.mat", {"datapoints": {"rgb": numpy.array(palettes), "ids": numpy.arange(3)}})
    return [row for _track, row in cfcolor.rows({RATINGS: folder / "r.mat", THEMES: folder / "t.mat"})]


def matrix(ratings):
    return numpy.array(ratings, dtype=float)


def rated(user, first, last, ratings=(3,)):
    return [(user, palette, ratings[palette % len(ratings)]) for palette in range(first, last + 1)]


def test_row_in_full(tmp_path):
    [row] = build(tmp_path, rated(244, 1, 4, (1, 2, 3, 5)), [(244, 30, 5), (244, 20, 2)])
    text = PLAIN(row)
    for name, path in (("RATINGS", "r.mat"), ("THEMES", "t.mat")):
        text = text.replace(hashlib.sha256((tmp_path / path).read_bytes()).hexdigest(), name)
    assert text == (
        '{"id":"cfcolor:244:20:30","family":"CFColor-preference","split":"test",'
        '"state":{"history":[{"colors":["#000102","#030405","#060708","#090a0b","#0c0d0e"],"rating":2},'
        '{"colors":["#151617","#18191a","#1b1c1d","#1e1f20","#212223"],"rating":1},{"colors":["#0e0f10","#111213",'
        '"#141516","#171819","#1a1b1c"],"rating":5},{"colors":["#070809","#0a0b0c","#0d0e0f","#101112","#131415"],'
        '"rating":3}],"rating_scale":"1 = lowest preference; 5 = highest preference"},'
        '"questions":{"preference":{"type":"choice","instructions":"Which five-color palette would this user rate more '
        'highly, given their earlier ratings?","criteria":{"A":["#00ff80","#808000","#808000","#808000","#808000"],'
        '"B":["#858687","#88898a","#8b8c8d","#8e8f90","#919293"]}}},"expected":{"preference":"A"},'
        '"metadata":{"group_id":"cfcolor:244:20:30","user_id":244,"uncertainty_cluster":"user_id","rating_gap":3,'
        '"target_palette_ids":{"A":30,"B":20},"history_palette_ids":[1,4,3,2],'
        '"source_sha256":{"allMTurkRatings.mat":"RATINGS","themeData.mat":"THEMES"},"protocol":"Original test targets, '
        'original train history; nonoverlapping deterministic pairs, gap>=2. No reroll. Human preference prediction, '
        'not objective beauty."}}'
    )


def test_a_request_with_eight_earlier_palettes_is_as_long_as_the_published_ones(tmp_path):
    [row] = build(tmp_path, rated(862, 1, 20), [(862, 30, 5), (862, 20, 2)])
    assert len(row["state"]["history"]) == 8
    assert len(payload_text(row["state"], row["questions"])) // 4 == 243


def test_users_come_by_number_and_pairs_from_their_shuffled_targets(tmp_path):
    generator = random.Random(1)
    ratings = {
        user: [(user, palette, generator.choice([1, 3, 5])) for palette in generator.sample(range(1, 30), 15)]
        for user in (30, 4)
    }
    rows = build(tmp_path, rated(4, 1, 29) + rated(30, 1, 29), ratings[30] + ratings[4])
    expected = []
    for user in (4, 30):
        targets = [(palette, rating) for _user, palette, rating in ratings[user]]
        seed = int(hashlib.sha256(f"user:{user}".encode()).hexdigest()[:16], 16)
        numpy.random.default_rng(seed).shuffle(targets)
        for place in range(0, 14, 2):
            (pa, ra), (pb, rb) = targets[place : place + 2]
            if abs(ra - rb) >= 2:
                expected.append((f"cfcolor:{user}:{pa}:{pb}", {pa: ra, pb: rb}))
    assert [row["id"] for row in rows] == [name for name, _ratings in expected]
    assert len({row["metadata"]["user_id"] for row in rows}) == 2
    for row, (name, rating_of) in zip(rows, expected, strict=True):
        ids = row["metadata"]["target_palette_ids"]
        pair = name.removeprefix("cfcolor:")
        last = sha256_text(f"pair:{pair}")[-1]
        assert list(ids.values()) == list(rating_of)[:: -1 if last in "13579bdf" else 1]
        assert row["expected"]["preference"] == max("AB", key=lambda side: rating_of[ids[side]])
        history = row["metadata"]["history_palette_ids"]
        user = pair.partition(":")[0]
        pool = sorted(set(range(1, 30)) - rating_of.keys(), key=lambda palette: sha256_text(f"{user}:{palette}"))
        assert history == pool[:8]


def test_palettes_rated_in_two_ways_are_left_out_and_the_same_way_twice_count_once(tmp_path):
    test = [(1, 10, 1), (1, 11, 4), (1, 10, 5), (1, 12, 1), (1, 11, 4)]
    train = rated(1, 1, 5) + [(1, 5, 4), (1, 4, 3)]
    [row] = build(tmp_path, train, test)
    assert set(row["metadata"]["target_palette_ids"].values()) == {11, 12}
    assert sorted(row["metadata"]["history_palette_ids"]) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "train, test",
    [
        (rated(1, 1, 9), [(1, 10, 3), (1, 11, 4)]),
        (rated(1, 1, 9), [(1, 31, 1), (1, 32, 5)]),
        (rated(1, 1, 3), [(1, 10, 1), (1, 11, 5)]),
        (rated(1, 1, 3) + rated(1, 10, 11), [(1, 10, 1), (1, 11, 5)]),
        (rated(1, 1, 3) + rated(1, 32, 32), [(1, 10, 1), (1, 31, 5)]),
        (rated(2, 1, 9), [(1, 10, 1), (1, 11, 5)]),
    ],
    ids=["close ratings", "same colours", "short history", "targets besides", "a look-alike besides", "no history"],
)
def test_a_pair_that_cannot_be_asked_is_skipped(tmp_path, train, test):
    assert build(tmp_path, train, test) == []


@pytest.mark.parametrize(
    "train, test, palettes, message",
    [
        (rated(1, 1, 9), [(1, 10, 1), (1, 41, 5)], PALETTES, f"{RATINGS}, user 1: 41 is missing"),
        (rated(1, 0, 9), [(1, 10, 1), (1, 11, 5)], PALETTES, f"{RATINGS}, user 1: 0 is missing"),
        (rated(1, 1, 9), [(1, 10), (1, 11)], PALETTES, f"{RATINGS}: expected three columns of whole numbers"),
        (rated(1, 1, 9), [(1, 10, 1.5), (1, 11, 5)], PALETTES, f"{RATINGS}: expected three columns of whole numbers"),
        (rated(1, 1, 9), [(1, 10, 1), (1, 11, 5)], [[0.5] * 14] * 40, f"{THEMES}: expected fifteen numbers"),
        (rated(1, 1, 9), [(1, 10, 1), (1, 11, 5)], [[1.5] * 15] * 40, f"{THEMES}: bytes must be in range"),
    ],
)
def test_a_malformed_source_is_named(tmp_path, train, test, palettes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        build(tmp_path, train, test, palettes)


def test_a_missing_matrix_is_named(tmp_path):
    build(tmp_path, rated(1, 1, 9), rated(1, 10, 11))
    savemat(tmp_path / "r.mat", {"train_vec": matrix(rated(1, 1, 9))})
    with pytest.raises(ValueError, match=f"^{RATINGS}: 'test_vec' is missing"):
        list(cfcolor.rows({RATINGS: tmp_path / "r.mat", THEMES: tmp_path / "t.mat"}))
