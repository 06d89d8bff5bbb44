"""One request: its state, its questions with their options, and what one or two runs answered."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.containers import Container
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from di_tui.request_view import View, is_long, linked, pretty, view
from di_tui.screens.base import WorkScreen
from di_tui.widgets.answer_lines import answer_lines, legend
from di_tui.widgets.line_view import Line, LineView, wrapped

if TYPE_CHECKING:
    from di_tui.scored_run import ScoredRun

WIDE = 100
_KEY = re.compile(r'\s*("[^"]*"):')


class RequestScreen(WorkScreen):
    """Shows one request of a list.

    Args:
        runs: one run, or two over the same rows. run_ids: the list that it is opened from. place: where in the list.
        moved: told the place in the list whenever that changes.
    """

    AUTO_FOCUS = "#answers"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide"), (160, "-widest")]
    BINDINGS: ClassVar = [
        Binding("n,right", "go(1)", "Next", key_display="n", tooltip="Show the next request of the list."),
        Binding("p,left", "go(-1)", "Previous", key_display="p", tooltip="Show the request before it in the list."),
        Binding("g", "go_group(1)", "Next of group", tooltip="Show the next linked request: one of the same group."),
        Binding("G", "go_group(-1)", show=False, tooltip="Show the linked request before it."),
        Binding("w", "raw", "Raw", tooltip="Show the row and the raw result as JSON, or the state again."),
        Binding("y", "copy", "Copy", tooltip="Copy what the left pane shows, as JSON, to the clipboard of the terminal."),
    ]

    def __init__(
        self,
        runs: "Sequence[ScoredRun]",
        run_ids: Sequence[str],
        place: int,
        moved: Callable[[int], None] = lambda _place: None,
    ):
        super().__init__()
        self._runs = list(runs)
        self._run_ids = run_ids
        self._place = place
        self._moved = moved
        self._group: list[str] = []
        self._raw = False
        self.run_id = run_ids[place]
        self.view: View | None = None
        self.crumb = "request"

    def body(self) -> Iterable[Widget]:
        yield Static("… reading", id="header")
        with Container(id="request", classes="two" if len(self._runs) > 1 else "one"):
            yield LineView(id="state")
            yield LineView(id="answers")

    def on_mount(self) -> None:
        self.query_one("#answers").border_subtitle = legend()
        self._read(self.run_id)

    def repaint(self) -> None:
        super().repaint()
        if self.view:
            self._show()

    def on_resize(self) -> None:
        self.call_after_refresh(self.repaint)

    @work(thread=True, exclusive=True, group="request")
    def _read(self, run_id: str) -> None:
        from di_tui.scored_run import PROBLEMS

        worker = get_current_worker()
        try:
            shown, group = view(self._runs, run_id), linked(self._runs[0].cases, run_id)
        except (*PROBLEMS, OSError) as error:
            problem = str(error)
        except KeyError:
            problem = f"the suite has no row {run_id}; give the --suite-dir of the run"
        else:
            problem = None
        if worker.is_cancelled:
            return
        if problem:
            self.app.call_from_thread(self._tell, problem)
        else:
            self.app.call_from_thread(self._take, run_id, shown, group)

    def _tell(self, problem: str) -> None:
        self.query_one("#header", Static).update(Text.assemble((f"× {problem}", "bad")))

    def _take(self, run_id: str, shown: View, group: list[str]) -> None:
        self.run_id, self.view, self._group = run_id, shown, group
        self._show(from_start=True)

    def _show(self, from_start: bool = False) -> None:
        width = max(self.size.width - 2, 20)
        self.query_one("#header", Static).update(self._header(width))
        state = self.query_one("#state", LineView)
        state.border_title = "row and result" if self._raw else "state and instructions"
        state.show(self._raw_lines if self._raw else self._state_lines, from_start)
        side_by_side = self.size.width >= WIDE or len(self._runs) == 1
        self.query_one("#answers", LineView).show(lambda width: answer_lines(self.view, width, side_by_side), from_start)

    def _header(self, width: int) -> Text:
        request = self.view.request
        where = [request.dataset, *([request.track] if request.track != request.dataset else [])]
        line = Text(" · ").join([Text(where[0], style="bold"), *map(Text, where[1:])])
        line.append(f"  {self._place + 1:,} of {len(self._run_ids):,}", style="muted")
        if len(self._group) > 1:
            line.append(f"  ▶ {self._group.index(self.run_id) + 1} of {len(self._group)} in group {request.group_id}", style="accent")
        lines = [line, Text(self.run_id, style="muted")]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return Text("\n").join(lines)

    def _state_lines(self, width: int) -> list[Line]:
        """The state, and what is too long of the instructions to stand above the options."""
        state, lines = self.view.request.state, []
        if state:
            lines += [_coloured(line) for line in wrapped(pretty(state), width)]
        for asked in self.view.questions:
            text = pretty(asked.instructions) if asked.instructions is not None else ""
            if is_long(text):
                lines += [*([""] if lines else []), Text(f"instructions of {asked.name}", style="muted")]
                lines += [_coloured(line) for line in wrapped(text, width)]
        return lines or [Text("· the state is empty", style="muted")]

    def _raw_lines(self, width: int) -> list[Line]:
        return [_coloured(line) for line in wrapped(_json(self._raw_document(), indent=2), width)]

    def _raw_document(self) -> dict:
        results = [reply.result for reply in self.view.replies]
        named = {"result": results[0]} if len(results) == 1 else {"result A": results[0], "result B": results[1]}
        return {**named, "row": self.view.request.row}

    def action_go(self, by: int) -> None:
        place = self._place + by
        if not 0 <= place < len(self._run_ids):
            self.notify("This is the last request of the list." if by > 0 else "This is the first request of the list.")
            return
        self._place = place
        self._moved(place)
        self._read(self._run_ids[place])

    def action_go_group(self, by: int) -> None:
        if len(self._group) > 1:
            self._read(self._group[(self._group.index(self.run_id) + by) % len(self._group)])
        else:
            self.notify("This request is linked to no other.")

    def action_raw(self) -> None:
        self._raw = not self._raw
        if self.view:
            self._show(from_start=True)
            self.query_one("#state").focus()

    def action_copy(self) -> None:
        if self.view:
            request = self.view.request
            document = self._raw_document() if self._raw else {"state": request.state, "questions": request.questions}
            self.app.copy_to_clipboard(_json(document))
            self.notify("Copied, if your terminal allows it.")


def _json(document: dict, indent: int | None = None) -> str:
    return json.dumps(document, indent=indent, ensure_ascii=False)


def _coloured(line: str) -> Line:
    """A line whose key, where it starts with one, stands out."""
    key = _KEY.match(line)
    if not key:
        return line
    text = Text(line)
    text.stylize("accent", *key.span(1))
    return text
