"""The keys of the screen below and what each does, made from its bindings; and the list of them for the command palette."""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Static


class Key(NamedTuple):
    """One action of a screen: its keys as shown, name, one sentence, and where and how to run it."""

    keys: str
    name: str
    sentence: str
    action: str
    node: DOMNode


def keys_of(screen: Screen) -> Iterator[Key]:
    """Every action with a sentence that works on a screen now, most particular first, each once."""
    found: dict[tuple[DOMNode, str], list] = {}
    for active in screen.active_bindings.values():
        if active.binding.tooltip and active.enabled:
            found.setdefault((active.node, active.binding.action), []).append(active.binding)
    for (node, action), bindings in found.items():
        shown = " ".join(screen.app.get_key_display(binding) for binding in bindings)
        yield Key(shown, bindings[0].description, bindings[0].tooltip, action, node)


class HelpScreen(ModalScreen):
    """Lists keys; any of its keys closes it."""

    BINDINGS: ClassVar = [Binding("q,escape,question_mark,enter", "dismiss", "Close")]

    def __init__(self, about: Screen):
        super().__init__()
        self._keys = list(keys_of(about))
        self._of = about

    def compose(self) -> ComposeResult:
        table = Table.grid(padding=(0, 2))
        for key in self._keys:
            table.add_row(Text(key.keys, style="accent", no_wrap=True), Text(key.sentence))
        with VerticalScroll(classes="dialog", can_focus=True) as dialog:
            dialog.border_title = f"Keys of {getattr(self._of, 'crumb', 'this screen')}"
            dialog.border_subtitle = "escape closes"
            yield Static(table)
