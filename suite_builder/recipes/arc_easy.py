"""ARC-Easy: the easy part of the AI2 Reasoning Challenge."""

from functools import partial

from suite_builder.recipes.arc import arc_rows
from suite_builder.recipes.common import PLAIN

CATALOG_ID = 26
STYLE = PLAIN

rows = partial(arc_rows, CATALOG_ID, "ARC-Easy")
