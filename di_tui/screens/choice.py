"""Asks for one of a few ways to go on."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

if TYPE_CHECKING:
    from di_tui.job import Job


class ChoiceScreen(ModalScreen[str | None]):
    """Returns the key of the chosen way, None on escape. A way's first letter chooses it too."""

    BINDINGS = [Binding("escape,q", "dismiss", "Cancel")]

    def __init__(self, question: str, ways: Mapping[str, str]):
        super().__init__()
        self._question = question
        self._ways = ways

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog choice"):
            yield Static(self._question)
            yield OptionList(*(Option(f"{key[0]}  {text}", id=key) for key, text in self._ways.items()))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def on_key(self, event) -> None:
        way = next((key for key in self._ways if key[0] == event.character), None)
        if way:
            event.stop()
            self.dismiss(way)


def ask_and_leave(app: App, job: "Job", question: str, ways: Mapping[str, str], go: Callable[[], None]) -> None:
    """Ask what is to become of a job that still goes, then go, or stay.

    Args:
        ways: `leave` leaves it running, `stop` stops it; any other way stays.
    """

    def decided(way: str | None) -> None:
        if way == "stop":
            job.stop()
        if way in ("leave", "stop"):
            go()

    app.push_screen(ChoiceScreen(question, ways), decided)
