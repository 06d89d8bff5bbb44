"""What forms share: fields with a line each, what is wrong with them below, and the command line that they come to."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static
from textual.worker import get_current_worker

from di_tui.screens.base import WorkScreen
from engines.run_dir import RunError


@dataclass(frozen=True)
class Field:
    """One field. hint: what to write there. choices: (shown, value) pairs where one of a few is chosen. suggested: texts that
    completion offers."""

    label: str
    hint: str = ""
    value: str = ""
    choices: Sequence[tuple[str, str]] = ()
    suggested: Sequence[str] = ()


class Form(Protocol):
    """What a filled in form comes to."""

    def errors(self) -> Mapping[str, str]:
        """Field -> what is wrong with it and what to do."""

    def command(self) -> str:
        """The command line that does the same."""

    def note(self) -> str:
        """What a person should know before starting, if anything."""


class FormScreen(WorkScreen):
    """Sub-classes give `fields()`, `form()` and `begin()`, and may override `adapt()`."""

    AUTO_FOCUS = "Input, Select"
    # Those of the tab key come before the fields' own keys, so that what is typed right after it goes to the next field.
    BINDINGS: ClassVar = [
        Binding("tab", "app.focus_next", "Next field", show=False, priority=True, tooltip="Go to the next field."),
        Binding("shift+tab", "app.focus_previous", "Field before", show=False, priority=True, tooltip="Go to the field before."),
        Binding("ctrl+s", "start", "Start", tooltip="Begin this in a process of its own and watch it."),
        Binding("ctrl+y", "copy", "Copy command", tooltip="Copy the command line; y does too, outside of the fields."),
        Binding("y", "copy", "Copy command", show=False, tooltip="Copy the command line to the clipboard of the terminal."),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._tried = False

    def fields(self) -> Mapping[str, Field]:
        """The fields by name, in their order."""
        raise NotImplementedError

    def form(self, texts: Mapping[str, str]) -> Form:
        """What the texts of the fields come to."""
        raise NotImplementedError

    def begin(self, form: Form) -> None:
        """Do it.

        Raises:
            RunError: it cannot begin; the message says why.
        """
        raise NotImplementedError

    def adapt(self, texts: Mapping[str, str]) -> Collection[str]:
        """Fields that are of no use with these texts and are hidden; may fill in others with `fill`."""
        return ()

    def body(self) -> Iterable[Widget]:
        self._fields = self.fields()
        with VerticalScroll(id="form", can_focus=False):
            for name, field in self._fields.items():
                with Vertical(id=f"row-{name}", classes="form-row"):
                    with Horizontal():
                        yield Static(field.label, classes="form-label")
                        yield _widget(name, field)
                    yield Static(id=f"error-{name}", classes="form-error")
            yield Static(id="command")
            yield Static(id="note")
            yield Button("Start", compact=True, id="start")

    def on_mount(self) -> None:
        self.refresh_form()

    @property
    def texts(self) -> dict[str, str]:
        """What is filled in now."""
        return {name: str(self.query_one(f"#field-{name}").value).strip() for name in self._fields}

    def fill(self, name: str, text: str) -> None:
        """Put a text into a field."""
        self.query_one(f"#field-{name}", Input).value = text

    def on_select_changed(self) -> None:
        self.refresh_form()

    def on_input_changed(self) -> None:
        self.refresh_form()

    def refresh_form(self) -> None:
        """Show the fields that are of use, the command line, and once a start was tried what is wrong."""
        hidden = self.adapt(self.texts)
        for name in self._fields:
            self.query_one(f"#row-{name}").display = name not in hidden
        form = self.form(self.texts)
        self.query_one("#command", Static).update(Text.assemble(("$ ", "muted"), (form.command(), "accent")))
        self._show_errors(form.errors() if self._tried else {})
        self._look(form)

    @work(thread=True, exclusive=True, group="note")
    def _look(self, form: Form) -> None:
        """What is on the disk may take a moment to see."""
        worker, note = get_current_worker(), form.note()
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_note, note)

    def _show_note(self, note: str) -> None:
        line = self.query_one("#note", Static)
        line.update(Text.assemble((note, "muted")))
        line.display = bool(note)

    def _show_errors(self, errors: Mapping[str, str]) -> None:
        for name in self._fields:
            line = self.query_one(f"#error-{name}", Static)
            line.update(Text.assemble((f"× {errors.get(name, '')}", "bad")))
            line.display = name in errors

    def on_input_submitted(self) -> None:
        self.focus_next()

    def on_button_pressed(self) -> None:
        self.action_start()

    def action_start(self) -> None:
        """Begin, or say at the fields why not."""
        self._tried = True
        form = self.form(self.texts)
        errors = form.errors()
        self._show_errors(errors)
        if errors:
            self.query_one(f"#field-{next(name for name in self._fields if name in errors)}").focus()
            return
        try:
            self.begin(form)
        except RunError as error:
            self.notify(str(error), severity="error", markup=False)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.form(self.texts).command())
        self.notify("Copied, if your terminal allows it.")


def _widget(name: str, field: Field) -> Widget:
    if field.choices:
        value = field.value or field.choices[0][1]
        return Select(field.choices, value=value, allow_blank=False, compact=True, id=f"field-{name}")
    suggester = SuggestFromList(field.suggested) if field.suggested else None
    return Input(field.value, field.hint, suggester=suggester, compact=True, id=f"field-{name}")
