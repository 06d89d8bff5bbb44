"""Asks for the name of a file to write."""

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class FileNameScreen(ModalScreen[Path | None]):
    """Returns a path that may be written, None on escape. A file that is there is replaced only when asked for twice."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "Cancel")]

    def __init__(self, question: str, suggested: Path):
        super().__init__()
        self._question = question
        self._suggested = suggested
        self._replace: Path | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog choice"):
            yield Static(self._question)
            yield Input(str(self._suggested), id="file-name", compact=True, select_on_focus=False)
            yield Static("enter writes, escape cancels", id="file-problem")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        path = Path(event.value.strip()).expanduser()
        if not path.name or path.is_dir():
            self._tell("× give the name of a file", "bad")
        elif not path.parent.is_dir():
            self._tell(f"× there is no folder {path.parent}", "bad")
        elif path.exists() and path != self._replace:
            self._replace = path
            self._tell(f"– {path.name} is there already; enter again replaces it", "warning")
        else:
            self.dismiss(path)

    def on_input_changed(self) -> None:
        self._replace = None

    def _tell(self, text: str, style: str) -> None:
        self.query_one("#file-problem", Static).update(Text(text, style=style))
