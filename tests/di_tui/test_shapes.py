import pytest

from di_tui.shapes import LEVELS, age, bar, phase_mark, sparkline
from di_tui.widgets.columns import Column, fit


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "▁▁▁▁"), (0.5, "▇▇▁▁"), (0.99, "▇▇▇▁"), (1.0, "▇▇▇▇"), (7.0, "▇▇▇▇"), (-1.0, "▁▁▁▁")],
)
def test_a_bar_is_full_only_when_all_is_done(share, text):
    assert bar(share, 4) == text


def test_a_sparkline_goes_from_nothing_to_the_largest():
    assert sparkline([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 10) == LEVELS
    assert sparkline([1.0] * 100, 8) == LEVELS[-1] * 8
    assert sparkline([], 8) == sparkline([0.0, 0.0], 8) == ""


def test_a_long_history_is_averaged_into_the_cells():
    assert sparkline([0.0, 10.0] * 50 + [10.0] * 100, 2) == LEVELS[2] + LEVELS[-1]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "now"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (86399, "23h"), (86400 * 12.5, "12d")]
)
def test_ages_are_short(seconds, text):
    assert age(seconds) == text


def test_a_phase_that_nobody_named_is_shown_as_it_is():
    assert str(phase_mark("new-one")) == "· new-one"


COLUMNS = (Column("a", "A", 10, grow=5), Column("b", "B", 10, drop=1), Column("c", "C", 10, drop=2, grow=100))


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (200, [("a", 15), ("b", 10), ("c", 110)]),
        (34, [("a", 10), ("b", 10), ("c", 10)]),
        (33, [("a", 15), ("b", 10)]),
        (21, [("a", 15)]),
        (3, [("a", 10)]),
    ],
)
def test_columns_drop_by_priority_and_share_what_is_left(width, shown):
    assert [(column.key, room) for column, room in fit(COLUMNS, width)] == shown
