"""The Textual app: themes, the screens' order, help and command palette. What a screen shows is its own matter."""

import gc
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from di_tui import palette, settings
from di_tui.plain_characters import PlainCharacters, encoding_of_terminal
from di_tui.run_list import RUNS
from di_tui.screens.base import WorkScreen
from di_tui.screens.help import HelpScreen, keys_of
from di_tui.screens.home import HomeScreen
from di_tui.screens.monitor import MonitorScreen
from engines.run_dir import RunError

if TYPE_CHECKING:
    from di_tui.job import Job

STYLES = Path(__file__).parent / "styles"
SECONDS_BETWEEN_LOOKS = 0.5


class DiTui(App[None]):
    """Opens at home, at one run when `watched` is given, or at the screen that `first` makes; leaving that ends the app.

    Args:
        folder: where home looks for runs.
        watched: a run directory to show at once.
        job: the process that was started for this app to write the watched run.
    """

    TITLE = "di-tui"
    CSS_PATH = sorted(STYLES.glob("*.tcss"))
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar = [
        Binding("question_mark", "keys", "Help", key_display="?", tooltip="Show the keys of this screen."),
        Binding("q,escape", "screen.back", "Back", tooltip="Go back to the screen before, or quit from the first one."),
        Binding("ctrl+t", "dark", "Dark/light", show=False, tooltip="Change between dark and light; it is remembered."),
        Binding("ctrl+p", "command_palette", "Commands", show=False, tooltip="Find a command by its name."),
        Binding("ctrl+q", "quit", "Quit", show=False, tooltip="Quit; a run in a process of its own goes on."),
    ]

    def __init__(
        self,
        folder: Path = RUNS,
        watched: Path | None = None,
        job: "Job | None" = None,
        first: Callable[[], Screen] | None = None,
    ):
        super().__init__()
        self.folder = folder
        self.watched = watched
        self.job = job
        self.first = first
        self._attended: list[tuple[Job, str]] = []
        self._filters.append(PlainCharacters(encoding_of_terminal()))
        self.settings = settings.load()
        for theme in (palette.DARK, palette.LIGHT):
            self.register_theme(theme)
        self._colour()

    def _colour(self) -> None:
        theme = palette.DARK if self.settings.dark else palette.LIGHT
        self.console.push_theme(palette.text_styles(theme))
        self.theme = theme.name

    def get_default_screen(self) -> Screen:
        if self.first:
            return self.first()
        return MonitorScreen(self.watched, self.job) if self.watched else HomeScreen(self.folder)

    def on_mount(self) -> None:
        # Modules and styles live to the end; without them a full collection of garbage holds up the screen much less.
        gc.freeze()
        if self.job:
            self.attend(self.job, f"The job in {self.job.log.parent}")
        self.set_interval(SECONDS_BETWEEN_LOOKS, self._look_after_jobs)

    def watch_run(self, path: Path, job: "Job | None" = None) -> None:
        """Open the monitor of a run directory.

        Args:
            job: the process that was started to write it.
        """
        self.push_screen(MonitorScreen(path, job))

    def attend(self, job: "Job", name: str) -> None:
        """Tell when a job that was started here ends, whatever is on the screen then."""
        self.job = job
        self._attended.append((job, name))

    def _look_after_jobs(self) -> None:
        ended = [(job, name) for job, name in self._attended if job.code is not None]
        for job, name in ended:
            self._attended.remove((job, name))
            self.announce(f"{name} has ended{f' with exit code {job.code}' if job.code else ''}.")

    def announce(self, text: str) -> None:
        """Ring the bell and tell the terminal (OSC 9), which may show it to a person who looks elsewhere."""
        self.bell()
        self.notify(text, markup=False)
        if self._driver and not self.is_headless:
            self._driver.write(f"\x1b]9;{text}\x07")
            self._driver.flush()

    def leave_screen(self) -> None:
        """Go back one screen; from the first one, end."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.exit()

    async def action_quit(self) -> None:
        if isinstance(self.screen, WorkScreen):
            self.screen.leave(self.exit)
        else:
            self.exit()

    def action_keys(self) -> None:
        self.push_screen(HelpScreen(self.screen))

    def action_dark(self) -> None:
        self.settings = settings.Settings(dark=not self.settings.dark)
        self._colour()
        self.refresh(layout=True)
        try:
            settings.save(self.settings)
        except RunError as error:
            self.notify(str(error), severity="warning", markup=False)

    def get_system_commands(self, screen: Screen) -> Iterable[SystemCommand]:
        for key in keys_of(screen):
            if key.node not in (self, screen) or key.action == "command_palette":
                continue
            run = partial(self.call_later, self.run_action, key.action, key.node)
            yield SystemCommand(key.name, key.sentence, run)
