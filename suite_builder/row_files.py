"""What goes into each row file of an edition: the frozen lines of its benchmarks, cut or rebuilt where the edition says so."""

from collections.abc import Callable, Iterator, Sequence

import orjson

from suite_builder.blocks import Block, Emit
from suite_builder.data_files import load_lines
from suite_builder.editions import Edition
from suite_builder.recipes import gsm8k_03
from suite_builder.rows import frozen_json
from suite_builder.store import Store
from suite_builder.subsets import draw

BASE, ADDED, GSM8K = "selected-rows", "added-rows", "gsm8k-rows"

Lines = Callable[[], Iterator[bytes]]


def row_files(edition: Edition, blocks: Sequence[Block], store: Store, emit: Emit) -> dict[str, Lines]:
    """Stem -> a function that gives the lines of that file, for every file of the edition that has any of these blocks.

    The lines of a base file are those of edition 0.1, in catalog order; from 0.2 on ToolRet and BRIGHT are cut to their
    subsets. GSM8K rows of edition 0.3 are built anew from the benchmark's own sources.
    """
    base = [block for block in blocks if not block.benchmark.added]
    added = [block for block in blocks if block.benchmark.added]
    contents = {
        BASE: (base, lambda: _base_lines(edition, base)),
        ADDED: (added, lambda: _lines(added)),
        GSM8K: ([block for block in base if block.benchmark.recipe == "gsm8k"], lambda: _gsm8k_lines(store, emit)),
    }
    return {stem: lines for stem, (members, lines) in contents.items() if members and stem in edition.files}


def _lines(blocks: Sequence[Block]) -> Iterator[bytes]:
    for block in blocks:
        with block.frozen.path.open("rb") as lines:
            yield from lines


def _base_lines(edition: Edition, blocks: Sequence[Block]) -> Iterator[bytes]:
    for block in blocks:
        cut = block.benchmark.catalog_id in edition.cut_in_file
        yield from _subset_lines(block) if cut else _lines([block])


def _subset_lines(block: Block) -> Iterator[bytes]:
    """The lines of the drawn groups and of every group with an excluded row."""
    excluded_rows = {line.partition("\t")[0] for line in load_lines("excluded-run-ids.txt")}
    group_of = {facts["run_id"]: facts["group_id"] for facts, _line in _with_facts(block)}
    excluded = {group for run_id, group in group_of.items() if run_id in excluded_rows}
    kept = excluded.union(draw(block.benchmark.catalog_id, group_of.values(), excluded))
    return (line for facts, line in _with_facts(block) if facts["group_id"] in kept)


def _with_facts(block: Block) -> Iterator[tuple[dict, bytes]]:
    return ((orjson.loads(line)["_evaluation"], line) for line in _lines([block]))


def _gsm8k_lines(store: Store, emit: Emit) -> Iterator[bytes]:
    files = {file.path: obtained.path for file, obtained in store.obtain_all(30, emit).items()}
    return (f"{frozen_json(row)}\n".encode() for row in gsm8k_03.rows(files))
