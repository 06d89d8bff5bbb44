"""Asks for one of a few ways to go on."""

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option


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
