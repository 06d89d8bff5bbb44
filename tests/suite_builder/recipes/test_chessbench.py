"""ChessBench from hand-made bags; the real one was not at hand. A published request proves state, options and order."""

import struct

import chess
import pytest
from recipe_sources import write_lines

from suite_builder.catalog import benchmarks
from suite_builder.freeze import base_lines
from suite_builder.recipes import chessbench
from suite_builder.recipes.common import PLAIN
from suite_builder.rows import Request, sha256_text

FILE = "chessbench-test-action-value.bag"
OPENING = "r1bqkbnr/pppp1ppp/2n5/8/3N4/8/PPP1PPPP/RNBQKB1R w KQkq - 1 4"
TWO_MOVES = "7k/5KR1/8/8/8/8/8/7n b - - 0 1"
MATES = "k7/8/1K6/8/8/8/8/7R w - - 0 1"


def record(fen, move, value):
    """A record as upstream encodes it."""
    texts = [text.encode() for text in (fen, move)]
    return b"".join(varint(len(text)) + text for text in texts) + struct.pack(">d", value)


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def bag(records):
    ends = [sum(map(len, records[: place + 1])) for place in range(len(records))]
    return b"".join(records) + struct.pack(f"<{len(ends)}Q", *ends)


def build(folder, records):
    path = folder / "a.bag"
    path.write_bytes(records if isinstance(records, bytes) else bag(records))
    return [row for _track, row in chessbench.rows({FILE: path})]


def all_moves(fen, value=0.5):
    return [record(fen, move.uci(), value) for move in chess.Board(fen).legal_moves]


def test_a_published_request_comes_out(tmp_path):
    [row] = build(tmp_path, all_moves(OPENING))
    assert row["metadata"]["group_id"] == "b605df9f24d7431a690ebdd10e9536db45132eac7bce5a26e69af83920a2acc9"
    options = list(row["questions"]["move"]["criteria"])
    assert (len(options), options[:5]) == (32, ["e2e4", "c1h6", "a2a4", "c1d2", "d1d2"])
    normalized = write_lines(tmp_path / "n.jsonl", [PLAIN(row)])
    [line] = base_lines(benchmarks()[31], {"ChessBench-legal-move": normalized})
    request = Request.from_line(line.encode())
    assert request.payload_sha256 == "d5b3e860591fc6b2c02b73b014cfd12cff789dc857be66c57096bc93cc18811d"
    assert request.proxy_tokens == 394


def test_row_in_full(tmp_path):
    records = [record(TWO_MOVES, "h1g3", 1e-05), record(TWO_MOVES, "h1f2", 0.4837261), record(TWO_MOVES, "h1g3", 1e-05)]
    [row] = build(tmp_path, records)
    assert PLAIN(row) == (
        '{"id":"ChessBench:test:0956658564841a17f56424eecce1026f2b2279395c2210e020969bb74312c05e",'
        '"family":"ChessBench-legal-move","split":"test","state":{"fen":"7k/5KR1/8/8/8/8/8/7n b - - 0 1","board":". . '
        '. . . . . k\\n. . . . . K R .\\n. . . . . . . .\\n. . . . . . . .\\n. . . . . . . .\\n. . . . . . . .\\n. . . '
        '. . . . .\\n. . . . . . . n","side_to_move":"black"},"questions":{"move":{"type":"choice",'
        '"instructions":"Choose the strongest legal move for the side to move. Board rows run from rank 8 to rank 1; '
        'columns a to h. Uppercase pieces are white. All legal moves are supplied.","criteria":{"h1f2":{"uci":"h1f2",'
        '"san":"Nf2"},"h1g3":{"uci":"h1g3","san":"Ng3"}}}},"expected":{"move":"h1f2"},'
        '"scoring":{"type":"chess_reference_value","values":{"h1g3":1e-05,"h1f2":0.4837261},"accepted":["h1f2"],'
        '"scorer":"evaluation.adapters.chessbench:score_choice","tie_tolerance":0.0},'
        '"metadata":{"source_sha256":"5f73aac8f60e31734cdbf276ba3fca8d5ba5cb6171ba600e31af4f36327986b0",'
        '"source_revision":"90ae0e6b121673fc3079aaeffa047580bb600c0a",'
        '"source":"artifacts/benchmark-suite/raw/downloads/chessbench-test-action-value.bag",'
        '"group_id":"0956658564841a17f56424eecce1026f2b2279395c2210e020969bb74312c05e","piece_count":4,'
        '"legal_move_count":2,"note":"Use the benchmark scorer: expected is only one representative of potentially '
        'several equally best moves."}}'
    )


def test_values_keep_file_order_options_hash_order_and_best_moves_text_order(tmp_path):
    moves = ["h1h8", "b6a6", "h1h7", "b6c7", "b6c6", "b6b5", "b6a5", "b6c5", "h1g1", "h1f1", "h1e1", "h1d1", "h1c1"]
    moves += ["h1b1", "h1a1", "h1h2", "h1h3", "h1h4", "h1h5", "h1h6"]
    records = [record(MATES, move, 1.0 if move in ("h1h8", "h1a1") else 0.25) for move in moves]
    [row] = build(tmp_path, records)
    assert list(row["scoring"]["values"]) == moves
    assert row["scoring"]["accepted"] == ["h1a1", "h1h8"]
    assert row["expected"] == {"move": "h1a1"}
    options = row["questions"]["move"]["criteria"]
    assert list(options) == sorted(moves, key=lambda move: sha256_text(f"{MATES}:{move}"))
    assert options["h1h8"] == {"uci": "h1h8", "san": "Rh8#"}
    assert options["h1a1"] == {"uci": "h1a1", "san": "Ra1+"}


def test_positions_come_by_fen_and_those_with_other_or_too_few_moves_are_skipped(tmp_path):
    promoting, mated = "8/P6k/8/8/8/8/8/K7 w - - 3 9", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
    one_move = "8/8/8/8/8/2k5/8/K1q5 w - - 0 1"
    records = all_moves(promoting) + all_moves(OPENING)[1:] + all_moves(TWO_MOVES) + all_moves(one_move)
    records += [record(MATES, "b6b8", 0.1), *all_moves(MATES), record(mated, "h8g8", 0.5)]
    rows = build(tmp_path, records)
    assert [row["state"]["fen"] for row in rows] == [TWO_MOVES, promoting]
    assert {"a7a8q", "a7a8n"} < rows[1]["questions"]["move"]["criteria"].keys()


@pytest.mark.parametrize(
    "damaged, message",
    [
        (record(TWO_MOVES, "h1g3", 0.5) + b"x", "record 1: expected 8 bytes of value, found 9"),
        (record(TWO_MOVES, "h1g3", 0.5)[:-9], "record 1: "),
        (b"", "record 1: "),
        (b"\x85", "record 1: "),
        (record(TWO_MOVES, "h1g3", 1.5), "record 1: value 1.5 is no probability"),
        (record(TWO_MOVES, "h1g3", float("nan")), "record 1: value nan is no probability"),
        (record(TWO_MOVES, "h1f2", 0.25), f"record 1: another value for h1f2 in {TWO_MOVES}"),
        (record("no position", "h1f2", 0.25), "position 'no position': "),
    ],
)
def test_a_malformed_record_is_named(tmp_path, damaged, message):
    with pytest.raises(ValueError, match=rf"^{FILE}, {message}"):
        build(tmp_path, [record(TWO_MOVES, "h1f2", 0.5), damaged])


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", ": "),
        (b"abc", ": not an uncompressed bag"),
        (b"abcd" + struct.pack("<Q", 5), ": not an uncompressed bag"),
        (b"abcd" + struct.pack("<Q", 3), ": not an uncompressed bag"),
        (b"abcd" + struct.pack("<3Q", 2, 1, 4), ", record 0: "),
        (b"abcd" + struct.pack("<3Q", 9, 1, 4), ", record 0: it cannot end at byte 9"),
    ],
)
def test_a_damaged_bag_is_named(tmp_path, content, message):
    with pytest.raises(ValueError, match=f"^{FILE}{message}"):
        build(tmp_path, content)


def test_records_are_the_slices_between_the_ends(tmp_path):
    path = tmp_path / "a.bag"
    path.write_bytes(bag([b"one", b"", b"three"]))
    assert list(chessbench.bag_records(path)) == [b"one", b"", b"three"]
    path.write_bytes(b"abcd" + struct.pack("<3Q", 2, 1, 4))
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: it cannot end at byte 1"):
        list(chessbench.bag_records(path))


def test_long_strings_have_a_length_of_several_bytes():
    fen = "é" * 20_000
    assert chessbench.parse_record(record(fen, "e2e4", 0.0)) == (fen, "e2e4", 0.0)
