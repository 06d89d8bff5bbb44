"""A long text to read, such as the traceback of an error."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static


class TextScreen(ModalScreen):
    """Shows facts and a text; escape closes, `c` copies the text to the terminal's clipboard."""

    BINDINGS: ClassVar = [
        Binding("q,escape,enter", "dismiss", "Close"),
        Binding("c", "copy", "Copy", tooltip="Copy the text to the clipboard of the terminal."),
    ]

    def __init__(self, title: str, facts: dict[str, str], text: str):
        super().__init__()
        self._title = title
        self._facts = facts
        self._text = text

    def compose(self) -> ComposeResult:
        content = Text()
        for name, value in self._facts.items():
            content.append(f"{name}  ", style="muted").append(f"{value}\n")
        content.append(f"\n{self._text}")
        with VerticalScroll(classes="dialog", can_focus=True) as dialog:
            dialog.border_title = self._title
            dialog.border_subtitle = "c copies · escape closes"
            yield Static(content)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text)
        self.notify("Copied, if your terminal allows it.")
