"""Boards of scored runs and published figures."""

import json

import pytest
from golden import GOLDEN, SUITE_0_2, results_of

from scoring.board import build_board
from scoring.errors import ScoreError
from scoring.report import score
from suite_builder.suite import Suite

MODELS = ("random", "near-perfect", "middling")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for model in MODELS:
        score(Suite.open(SUITE_0_2, "0.2.1"), results_of(model), folder / model, model, draws=100)
    return [folder / model for model in MODELS]


def test_runs_are_ranked_by_index_and_by_interval(runs):
    board = build_board(runs)
    assert board.edition == "0.2.1"
    assert [(entrant.name, entrant.rank, entrant.rank_by_interval) for entrant in board.entrants] == [
        ("near-perfect", 1, 1), ("middling", 2, 2), ("random", 3, 3),
    ]
    best = board.entrants[0]
    assert best.interval.low < best.index < best.interval.high
    assert best.complete is False and best.coverage == 1.0


def test_published_figures_stand_among_the_runs(runs):
    board = build_board(runs, GOLDEN / "real-board-0.2.1.json")
    names = [entrant.name for entrant in board.entrants]
    assert names.index("near-perfect") < names.index("Jev (published)") < names.index("middling")
    jev = board.entrants[names.index("Jev (published)")]
    assert (jev.index, jev.raw_index, jev.rank_by_interval, jev.complete) == (57.89, 68.08, None, None)


def test_published_figures_of_the_public_index_are_read(tmp_path):
    figures = json.loads((GOLDEN / "real-board-0.3.json").read_text())
    board = build_board([], GOLDEN / "real-board-0.3.json")
    assert board.edition == "0.3"
    assert {entrant.index for entrant in board.entrants} == {own["public_index"] for own in figures["entrants"].values()}


def test_editions_are_not_mixed(runs):
    with pytest.raises(ScoreError, match=r"different editions: .*Jev \(published\) \(0.2\)"):
        build_board(runs, GOLDEN / "real-board-0.2.json")


def test_runs_that_are_not_scored_and_files_without_figures_are_named(runs, tmp_path):
    with pytest.raises(ScoreError, match="is not scored; run `di-tui score"):
        build_board([tmp_path])
    (tmp_path / "figures.json").write_text('{"edition": "0.2.1"}')
    with pytest.raises(ScoreError, match=r"figures.json is no file of board figures"):
        build_board(runs, tmp_path / "figures.json")
    with pytest.raises(ScoreError, match="nothing.json"):
        build_board(runs, tmp_path / "nothing.json")


def test_runs_of_one_name_are_refused(runs, tmp_path):
    with pytest.raises(ScoreError, match="same folder name"):
        build_board([runs[0], runs[0]])
