"""Reading a results file: large ones in parts, by all cores."""

from pathlib import Path

from engines.results import result_parts
from scoring.parts import Part, read_part
from scoring.processes import Helpers, Shared

BYTES_A_PART = 1 << 22


def begin(path: Path, helpers: Helpers = Helpers()) -> Shared[Part]:
    """Let helpers begin to read a results file; its `batches` are the parts.

    Raises:
        ResultsError: the file cannot be read; when asked for the results also: it is missing or malformed.
    """
    parts = result_parts(path, BYTES_A_PART) if helpers.count else [(0, None)]
    return Shared(helpers, read_part, [(path, start, stop) for start, stop in parts])
