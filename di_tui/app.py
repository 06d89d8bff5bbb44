"""The Textual app: themes, the screens' order, help and command palette. What a screen shows is its own matter."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from di_tui import palette, settings
from di_tui.plain_characters import PlainCharacters, encoding_of_terminal
from di_tui.run_list import RUNS
from di_tui.screens.help import HelpScreen, keys_of
from di_tui.screens.home import HomeScreen
from di_tui.screens.monitor import MonitorScreen
from engines.run_dir import RunError

if TYPE_CHECKING:
    from di_tui.run_job import Job


class DiTui(App[None]):
    """Opens at home, or at one run when `watched` is given.

    Args:
        folder: where home looks for runs.
        watched: a run directory to show at once; leaving it ends the app.
        job: the process that was started for this app to write the watched run.
    """

    TITLE = "di-tui"
    CSS_PATH = "styles/app.tcss"
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar = [
        Binding("question_mark", "keys", "Help", key_display="?", tooltip="Show the keys of this screen."),
        Binding("q,escape", "screen.back", "Back", tooltip="Go back to the screen before, or quit from the first one."),
        Binding("ctrl+t", "dark", "Dark/light", show=False, tooltip="Change between dark and light; it is remembered."),
        Binding("ctrl+p", "command_palette", "Commands", show=False, tooltip="Find a command by its name."),
        Binding("ctrl+q", "quit", "Quit", show=False, tooltip="Quit; a run in a process of its own goes on."),
    ]

    def __init__(self, folder: Path = RUNS, watched: Path | None = None, job: "Job | None" = None):
        super().__init__()
        self.folder = folder
        self.watched = watched
        self.job = job
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
        return MonitorScreen(self.watched, self.job) if self.watched else HomeScreen(self.folder)

    def watch_run(self, path: Path) -> None:
        """Open the monitor of a run directory."""
        self.push_screen(MonitorScreen(path))

    def leave_screen(self) -> None:
        """Go back one screen; from the first one, end."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.exit()

    async def action_quit(self) -> None:
        if isinstance(self.screen, MonitorScreen):
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
