"""Screens for terminals whose character set is not Unicode: what it lacks is drawn with plain characters of the same width."""

import sys
import unicodedata
from functools import cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

DRAWN_AS = str.maketrans(
    {
        **dict(zip("▁▂▃▄▅▆▇█", "_.-==+##", strict=True)),
        **dict(zip("✓×–—○›…·─━│┃", "vx--o>..--||", strict=True)),
        **dict(zip("╭╮╰╯┌┐└┘├┤┬┴┼▔▎▊▕▏", "+++++++++++++-||||", strict=True)),
        **dict(zip("↑↓←→▲▼▶◆≈−", "^v<>^v>*~-", strict=True)),
    }
)


def encoding_of_terminal() -> str:
    """The character set in which Textual's output is written, that of stderr."""
    return getattr(sys.__stderr__, "encoding", None) or "utf-8"


class PlainCharacters(LineFilter):
    """Replaces what an encoding lacks, in every line before it is drawn."""

    def __init__(self, encoding: str):
        super().__init__()
        self._encoding = encoding

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(in_encoding(text, self._encoding), style, control) for text, style, control in segments]


def in_encoding(text: str, encoding: str) -> str:
    """A text of the same width that can be written in an encoding."""
    try:
        text.encode(encoding)
        return text
    except UnicodeEncodeError:
        return "".join(_plain(character, encoding) for character in text)


@cache
def _plain(character: str, encoding: str) -> str:
    """A character itself where the encoding has it, else a plain one, at last question marks as wide as it is."""
    for candidate in (character, character.translate(DRAWN_AS), unicodedata.normalize("NFKD", character)[:1]):
        try:
            candidate.encode(encoding)
        except UnicodeEncodeError:
            continue
        if cell_len(candidate) == cell_len(character):
            return candidate
    return "?" * cell_len(character)
