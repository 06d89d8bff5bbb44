import pytest
from rich.cells import cell_len

from di_tui.plain_characters import DRAWN_AS, in_encoding
from di_tui.shapes import EMPTY, FULL, LEVELS, PHASES, STATUSES


@pytest.mark.parametrize(
    ("text", "plain"),
    [("✓ done", "v done"), ("▇▇▁▁", "##__"), ("café", "cafe"), ("日本", "????"), ("plain", "plain"), ("▁▂▃▅▆▇", "_.-=+#")],
)
def test_what_ascii_lacks_is_drawn_with_as_many_plain_characters(text, plain):
    assert in_encoding(text, "ascii") == plain
    assert cell_len(plain) == cell_len(text)


def test_what_an_encoding_has_stays():
    assert in_encoding("✓ café · 5", "latin-1") == "v café · 5"
    assert in_encoding("✓ 日本", "utf-8") == "✓ 日本"


def test_every_symbol_of_the_screens_has_a_plain_one():
    symbols = {mark.symbol for mark in (*PHASES.values(), *STATUSES.values())} | {*LEVELS, FULL, EMPTY}
    assert symbols <= {chr(code) for code in DRAWN_AS}
