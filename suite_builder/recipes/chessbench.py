"""ChessBench: the strongest of all legal moves in a position, by win probabilities of a chess engine."""

import mmap
import struct
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from sys import intern
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming, places
from suite_builder.rows import sha256_text
from suite_builder.sources import pinned, sources

CATALOG_ID = 31
STYLE = PLAIN

TRACK = "ChessBench-legal-move"
FILE = "chessbench-test-action-value.bag"
INSTRUCTIONS = (
    "Choose the strongest legal move for the side to move. Board rows run from rank 8 to rank 1; columns a to h. "
    "Uppercase pieces are white. All legal moves are supplied."
)
NOTE = "Use the benchmark scorer: expected is only one representative of potentially several equally best moves."

Values = dict[str, float]


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per position with 2 to 255 legal moves that are just the moves of the file; positions in FEN order.

    Raises:
        ValueError: a damaged bag, or a malformed or contradictory record or position; names record or position.
    """
    positions = _positions(files[FILE])
    for fen in sorted(positions):
        with naming(f"{FILE}, position {fen!r}"):
            row = _row(fen, positions[fen])
        if row:
            yield TRACK, row


def _positions(file: Path) -> dict[str, Values]:
    """FEN -> move -> win probability for the side to move, moves in order of first appearance."""
    positions: dict[str, Values] = {}
    for place, record in places(FILE, bag_records(file)):
        with naming(place):
            fen, move, value = parse_record(record)
            if positions.setdefault(fen, {}).setdefault(intern(move), value) != value:
                raise ValueError(f"another value for {move} in {fen}")
    return positions


def bag_records(file: Path) -> Iterator[bytes]:
    """The records of an uncompressed Bagz file: contents, then the end offset of each as little-endian uint64.

    The last end is where the offsets begin.

    Raises:
        ValueError: the offsets do not describe the file.
    """
    with naming(FILE), file.open("rb") as stream:
        bag = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        index = int.from_bytes(bag[-8:], "little")
        if index > len(bag) - 8 or (len(bag) - index) % 8:
            raise ValueError("not an uncompressed bag: its last eight bytes are no offset of an index")
    with bag:
        start = 0
        for place, (end,) in places(FILE, struct.iter_unpack("<Q", bag[index:])):
            if not start <= end <= index:
                raise ValueError(f"{place}: it cannot end at byte {end}")
            yield bag[start:end]
            start = end


def parse_record(record: bytes) -> tuple[str, str, float]:
    """FEN, move in UCI and value of a record: two strings after their length as a varint, then a big-endian double.

    Raises:
        ValueError: the record has another layout, or the value is no probability.
    """
    fen, rest = _string(record)
    move, rest = _string(rest)
    if len(rest) != 8:
        raise ValueError(f"expected 8 bytes of value, found {len(rest)}")
    (value,) = struct.unpack(">d", rest)
    if not 0 <= value <= 1:
        raise ValueError(f"value {value} is no probability")
    return fen, move, value


def _string(data: bytes) -> tuple[str, bytes]:
    """A string after its length in bytes, seven bits a byte, lowest first; and what follows it."""
    length = place = 0
    while data[place] & 0x80:
        length |= (data[place] & 0x7F) << 7 * place
        place += 1
    length |= data[place] << 7 * place
    start = place + 1
    return data[start : start + length].decode(), data[start + length :]


def _row(fen: str, values: Values) -> dict[str, Any] | None:
    import chess

    board = chess.Board(fen)
    moves = {move.uci(): move for move in board.legal_moves}
    if moves.keys() != values.keys() or not 2 <= len(moves) <= 255:
        return None
    source_id, best = sha256_text(fen), max(values.values())
    accepted = sorted(move for move, value in values.items() if value == best)
    order = sorted(moves, key=lambda uci: sha256(f"{fen}:{uci}".encode()).digest())
    source = pinned(CATALOG_ID, FILE)
    return {
        "id": f"ChessBench:test:{source_id}",
        "family": TRACK,
        "split": "test",
        "state": {"fen": fen, "board": str(board), "side_to_move": chess.COLOR_NAMES[board.turn]},
        "questions": {
            "move": choice(INSTRUCTIONS, {uci: {"uci": uci, "san": board.san(moves[uci])} for uci in order}),
        },
        "expected": {"move": accepted[0]},
        "scoring": {
            "type": "chess_reference_value",
            "values": values,
            "accepted": accepted,
            "scorer": "evaluation.adapters.chessbench:score_choice",
            "tie_tolerance": 0.0,
        },
        "metadata": {
            "source_sha256": source.sha256,
            "source_revision": sources()[CATALOG_ID][0].revision,
            "source": source.row_path,
            "group_id": source_id,
            "piece_count": board.occupied.bit_count(),
            "legal_move_count": len(moves),
            "note": NOTE,
        },
    }
