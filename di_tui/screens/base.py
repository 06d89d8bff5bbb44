"""What all full screens share: breadcrumbs above, key hints below, and the keys that mean the same everywhere."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Static

SEPARATOR = " ▶ "


class WorkScreen(Screen):
    """A full screen. Sub-classes give `crumb` and `body()`, and may override `leave()`."""

    crumb = ""
    AUTO_FOCUS = "RowTable"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    BINDINGS: ClassVar = [
        Binding("tab", "app.focus_next", "Next part", show=False, tooltip="Go to the next part of the screen."),
        Binding("shift+tab", "app.focus_previous", "Part before", show=False, tooltip="Go to the part before."),
    ]

    def compose(self) -> ComposeResult:
        yield Static(id="breadcrumbs")
        yield from self.body()
        yield Footer(show_command_palette=False)

    def body(self) -> Iterable[Widget]:
        """The widgets between breadcrumbs and key hints."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.repaint())

    def on_screen_resume(self) -> None:
        self.repaint()

    def repaint(self) -> None:
        """Make texts anew whose colours are those of the theme."""
        self.query_one("#breadcrumbs", Static).update(self._trail())

    def _trail(self) -> Text:
        crumbs = [screen.crumb for screen in self.app.screen_stack if isinstance(screen, WorkScreen)]
        trail = Text.assemble(("di-tui", "accent"), no_wrap=True, overflow="ellipsis")
        for place, crumb in enumerate(crumbs, start=1):
            trail.append(SEPARATOR, style="muted").append(crumb, style="bold" if place == len(crumbs) else "muted")
        return trail

    def action_back(self) -> None:
        self.leave(self.app.leave_screen)

    def leave(self, go: Callable[[], None]) -> None:
        """Do what has to be done or asked before this screen is left, then `go`, or stay."""
        go()
