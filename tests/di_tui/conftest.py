"""What the tests of the app share: settings of their own, live runs, and waiting for what a screen should come to show."""

import shutil
import threading
import time

import pytest
from golden import SUITE_0_2, write_run

from engines.control import Control
from engines.run_dir import RunDir
from engines.runner import RunSettings, run

SECONDS_TO_WAIT = 15.0


@pytest.fixture(autouse=True)
def own_settings(tmp_path, monkeypatch):
    """The app of a test neither reads nor writes what its user's app remembers."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(scope="session")
def golden_folder(tmp_path_factory):
    """A folder with run directories of golden models, and their suite beside it."""
    folder = tmp_path_factory.mktemp("golden")
    suite = shutil.copytree(SUITE_0_2, folder / "suite-0.2")
    for model in ("near-perfect", "middling", "gappy"):
        write_run(folder / "runs", model, suite)
    return folder / "runs"


@pytest.fixture(scope="session")
def golden_runs(golden_folder):
    """Name -> scored run of a golden model, with all read that screens read."""
    from di_tui.scored_run import ScoredRun

    runs = {path.name: ScoredRun.open(path) for path in sorted(golden_folder.iterdir())}
    for scored in runs.values():
        scored.prepare()
    yield runs
    for scored in runs.values():
        scored.close()


@pytest.fixture
def begin_run(make_suite, tmp_path):
    """Begin a run in a thread; returns its directory. It is stopped when the test ends."""
    suite = make_suite()
    begun = []

    def begin(engine="faulty_engines:Steady", name="run", limit=None, **options):
        run_dir, control = RunDir(tmp_path / "runs" / name), Control()
        settings = RunSettings(engine, options=options, limit=limit, stop_after_errors=1000)
        thread = threading.Thread(target=run, args=(suite, run_dir, settings), kwargs={"control": control})
        thread.start()
        begun.append((control, thread))
        return run_dir.path

    yield begin
    for control, thread in begun:
        control.stop("the test is over")
        thread.join()


@pytest.fixture
def finished_run(begin_run):
    """Do a run to its end; returns its directory."""

    def finish(engine="random", name="run", **more):
        path = begin_run(engine, name, **more)
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while not RunDir(path).lock.exists() or RunDir(path).lock.stat().st_size or not RunDir(path).status.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return path

    return finish


@pytest.fixture
def until():
    """Let the app go on until a condition holds; fails when it does not come to hold."""

    async def wait(pilot, condition):
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while not condition():
            assert time.monotonic() < deadline, "it did not happen"
            await pilot.pause(0.02)

    return wait


@pytest.fixture
def screen_text():
    """The characters that an app shows now, line by line."""

    def text(app):
        return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())

    return text
