"""cfcolor: which of two colour palettes a user rates more highly, by what the user rated before."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming
from suite_builder.rows import sha256_text

CATALOG_ID = 23
STYLE = PLAIN

RATINGS = "release/allMTurkRatings.mat"
THEMES = "release/themeData.mat"
MIN_GAP = 2
MIN_HISTORY, MAX_HISTORY = 4, 8
INSTRUCTIONS = "Which five-color palette would this user rate more highly, given their earlier ratings?"
PROTOCOL = (
    "Original test targets, original train history; nonoverlapping deterministic pairs, gap>=2. No reroll. "
    "Human preference prediction, not objective beauty."
)

Colors = list[str]
Rated = tuple[int, int]  # palette, rating


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per usable pair of palettes that a user rated in the test part.

    Raises:
        ValueError: a file is not as expected, or a rating is of an unknown palette; names file or user.
    """
    train, test = _ratings(files[RATINGS])
    colors_of = _palettes(files[THEMES])
    digests = {Path(path).name: sha256(files[path].read_bytes()).hexdigest() for path in (RATINGS, THEMES)}
    for user in sorted(test):
        with naming(f"{RATINGS}, user {user}"):
            user_rows = list(_user_rows(user, train.get(user, []), test[user], colors_of, digests))
        yield from (("CFColor-preference", row) for row in user_rows)


def _ratings(file: Path) -> list[dict[int, list[Rated]]]:
    """User -> palettes with their rating, of the train and the test part; see `_single_ratings`."""
    from scipy.io import loadmat

    with naming(RATINGS):
        content = loadmat(file, squeeze_me=True)
        return [_single_ratings(content[part]) for part in ("train_vec", "test_vec")]


def _single_ratings(matrix: Any) -> dict[int, list[Rated]]:
    """User -> palettes that the user rated in one way only, in order of first appearance.

    Args:
        matrix: [ratings, 3], whole numbers: user, palette, rating.
    """
    found: dict[int, dict[int, set[int]]] = {}
    if matrix.ndim != 2 or matrix.shape[1] != 3 or (matrix != matrix.astype(int)).any():
        raise ValueError("expected three columns of whole numbers")
    for user, palette, rating in matrix.astype(int).tolist():
        found.setdefault(user, {}).setdefault(palette, set()).add(rating)
    return {
        user: [(palette, *ratings) for palette, ratings in palettes.items() if len(ratings) == 1]
        for user, palettes in found.items()
    }


def _palettes(file: Path) -> dict[int, Colors]:
    """Number, from 1, -> its five colours as `#rrggbb`."""
    from scipy.io import loadmat

    with naming(THEMES):
        rgb = loadmat(file, squeeze_me=True, struct_as_record=False)["datapoints"].rgb
        if rgb.ndim != 2 or rgb.shape[1] != 15:
            raise ValueError("expected fifteen numbers in a palette")
        return {number: _colors(channels) for number, channels in enumerate(rgb.tolist(), start=1)}


def _colors(channels: list[float]) -> Colors:
    digits = bytes(round(channel * 255) for channel in channels).hex()
    return [f"#{digits[start : start + 6]}" for start in range(0, len(digits), 6)]


def _user_rows(
    user: int, history: list[Rated], targets: list[Rated], colors_of: Mapping[int, Colors], digests: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The rows of the pairs of a user's shuffled targets."""
    import numpy

    history = sorted(history, key=lambda rated: sha256_text(f"{user}:{rated[0]}"))
    targets = list(targets)
    numpy.random.default_rng(int(sha256_text(f"user:{user}")[:16], 16)).shuffle(targets)
    for first, second in zip(targets[::2], targets[1::2], strict=False):
        shown = colors_of[first[0]], colors_of[second[0]]
        before = [rated for rated in history if colors_of[rated[0]] not in shown][:MAX_HISTORY]
        if abs(first[1] - second[1]) >= MIN_GAP and shown[0] != shown[1] and len(before) >= MIN_HISTORY:
            yield _row(user, first, second, before, colors_of, digests)


def _row(
    user: int,
    first: Rated,
    second: Rated,
    history: list[Rated],
    colors_of: Mapping[int, Colors],
    digests: Mapping[str, str],
) -> dict[str, Any]:
    pair = f"{user}:{first[0]}:{second[0]}"
    swapped = int(sha256_text(f"pair:{pair}")[-1], 16) % 2
    sides = dict(zip("AB", (second, first) if swapped else (first, second), strict=True))
    return {
        "id": f"cfcolor:{pair}",
        "family": "CFColor-preference",
        "split": "test",
        "state": {
            "history": [{"colors": colors_of[palette], "rating": rating} for palette, rating in history],
            "rating_scale": "1 = lowest preference; 5 = highest preference",
        },
        "questions": {
            "preference": choice(
                INSTRUCTIONS, {side: colors_of[palette] for side, (palette, _rating) in sides.items()}
            ),
        },
        "expected": {"preference": "A" if sides["A"][1] > sides["B"][1] else "B"},
        "metadata": {
            "group_id": f"cfcolor:{pair}",
            "user_id": user,
            "uncertainty_cluster": "user_id",
            "rating_gap": abs(first[1] - second[1]),
            "target_palette_ids": {side: palette for side, (palette, _rating) in sides.items()},
            "history_palette_ids": [palette for palette, _rating in history],
            "source_sha256": digests,
            "protocol": PROTOCOL,
        },
    }
