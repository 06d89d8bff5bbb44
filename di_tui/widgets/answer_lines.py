"""Lines that show the questions of a request with their options, and what one or two runs answered."""

import math
from collections.abc import Iterator, Sequence

from rich.text import Text

from di_tui.display.run import latency
from di_tui.display.table import shorten
from di_tui.request_view import LONG_LINES, Asked, Given, Reply, View, is_long, one_line, ordered, pretty
from di_tui.shapes import STATUSES, Mark, bar
from di_tui.widgets.line_view import Line, printable, wrapped
from engines.wire import Option

GOLD = Mark("●", "gold", "good")
RIGHT, WRONG, CHOSEN = Mark("✓", "right", "good"), Mark("×", "wrong", "bad"), Mark("▶", "chosen", "accent")
MARKS = {True: RIGHT, False: WRONG, None: CHOSEN}
NO_ANSWER = Mark("·", "no answer", "muted")
BAR, NUMBER, GAP = 8, 6, 2
ANSWER = len("✓ ") + NUMBER + 1 + BAR
INDENT = len("  ● ")
OPTION_LINES = 3


def legend() -> Text:
    """What the marks mean."""
    marks = (GOLD, RIGHT, WRONG, CHOSEN)
    return Text("   ").join(Text.assemble((mark.symbol, mark.style), (f" {mark.word}", "muted")) for mark in marks)


def answer_lines(view: View, width: int, side_by_side: bool) -> list[Line]:
    """All questions with the answers of all runs.

    Args:
        side_by_side: one list of options with a column a run; else the lists of the runs one under the other.
    """
    letters = "AB" if len(view.replies) > 1 else ("",)
    columns = list(zip(letters, view.replies, strict=True))
    lines: list[Line] = []
    for block in [columns] if side_by_side else [[column] for column in columns]:
        for letter, reply in block:
            lines += _reply_lines(letter, reply, width)
        for asked in view.questions:
            lines += ["", *_question_lines(asked, block, width)]
        lines.append("")
    return lines


def _reply_lines(letter: str, reply: Reply, width: int) -> Iterator[Line]:
    mark = STATUSES.get(reply.status, NO_ANSWER)
    line = Text.assemble((f"{letter} " if letter else "", "accent"), (reply.run, "bold"))
    line.append(f"  {mark.symbol} {reply.status}", style=mark.style)
    if reply.wall_ms is not None:
        line.append(f"  {latency(reply.wall_ms)}", style="muted")
    line.truncate(width, overflow="ellipsis")
    yield line
    for piece in wrapped(reply.problem, width, 2) if reply.problem else ():
        yield Text(piece, style=mark.style)


def _question_lines(asked: Asked, block: Sequence[tuple[str, Reply]], width: int) -> Iterator[Line]:
    title = Text.assemble((printable(asked.name), "bold"), (f"  {asked.kind}", "muted"))
    if not asked.scored:
        title.append("  · not scored", style="muted")
    given = [reply.answers.get(asked.name) for _letter, reply in block]
    yield _row(title, [_verdict(letter, answer) for (letter, _reply), answer in zip(block, given, strict=True)], width)
    if asked.instructions is not None:
        yield from _instructions(pretty(asked.instructions), width)
    for option in ordered(asked, [reply for _letter, reply in block]):
        yield from _option_lines(option, option.key in asked.gold, [_probability(option, answer) for answer in given], width)


def _instructions(text: str, width: int) -> list[Line]:
    """Instructions; of long ones, which stand in full beside the state, the end: there the question is."""
    lines = wrapped(text, width, 2)
    if not is_long(text) or len(lines) <= LONG_LINES:
        return lines
    return [Text("  …", style="muted"), *(line for line in lines[-LONG_LINES:] if line.strip())]


def _verdict(letter: str, answer: Given | None) -> Text:
    mark = MARKS[answer.right] if answer and answer.chosen is not None else NO_ANSWER
    return Text.assemble((f"{letter} " if letter else "", "accent"), (str(mark), mark.style))


def _probability(option: Option, answer: Given | None) -> Text:
    """The probability of an option as number and bar, marked where the option was chosen."""
    number = answer.probabilities[option.key] if answer else math.nan
    chosen = answer is not None and answer.chosen == option.key
    mark = MARKS[answer.right] if chosen else Mark(" ", "", "muted")
    known = not math.isnan(number)
    return Text.assemble(
        (f"{mark.symbol} ", mark.style),
        (f"{number:{NUMBER}.3f}" if known else "–".rjust(NUMBER), "" if chosen else "muted"),
        (f" {bar(number, BAR)}" if known else "", mark.style),
    )


def _option_lines(option: Option, is_gold: bool, columns: Sequence[Text], width: int) -> Iterator[Text]:
    key, description = printable(option.key), option.description
    told = "" if description in (None, option.key) else f"  {one_line(description)}"
    room = max(width - INDENT - len(columns) * (ANSWER + GAP), 1)
    pieces = wrapped(printable(key + told), room)
    if len(pieces) > OPTION_LINES:
        pieces = [*pieces[: OPTION_LINES - 1], shorten(f"{pieces[OPTION_LINES - 1]} …", room)]
    for number, piece in enumerate(pieces):
        text = Text.assemble(" " * INDENT, (piece, GOLD.style if is_gold else ""))
        if number:
            yield text
            continue
        text.stylize("bold", INDENT, INDENT + len(key))
        if is_gold:
            text = Text.assemble(f"{'':{INDENT - 2}}", (GOLD.symbol, GOLD.style), text[INDENT - 1 :])
        yield _row(text, columns, width)


def _row(left: Text, columns: Sequence[Text], width: int) -> Text:
    """A text, and columns at the end of the line; the text is cut where it has to be."""
    left.truncate(max(width - len(columns) * (ANSWER + GAP), 0), overflow="ellipsis", pad=True)
    for column in columns:
        column.truncate(ANSWER, overflow="ellipsis", pad=True)
        left.append(" " * GAP).append_text(column)
    return left
