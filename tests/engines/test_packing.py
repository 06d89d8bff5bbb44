"""The packed row: who reads whom in it, and how it is cut."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.packing import Forest, Layout, blocks, passes, shared_length

TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=8)
QUESTIONS = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=5)), min_size=1, max_size=6)


def laid_out(questions, prefix=()):
    layout = Layout(prefix)
    for prompt, options in questions:
        layout.add([*prefix, *prompt], options)
    return layout


def read_by(forest: Forest, index: int) -> list[int]:
    """What a token reads, itself included, by the one rule of the module."""
    return [place for place in range(index + 1) if index < forest.ends[place]]


@given(TOKENS, TOKENS)
def test_shared_length_is_that_of_the_common_beginning(first, second):
    size = shared_length(first, second)
    assert first[:size] == second[:size]
    assert size in (len(first), len(second)) or first[size] != second[size]


@given(QUESTIONS, TOKENS)
def test_every_token_reads_its_own_sequence_and_nothing_else(questions, prefix):
    layout = laid_out(questions, prefix)
    forest = layout.forest
    first_score = 0
    for prompt, options in questions:
        for number, option in enumerate(options):
            readers = [reader for reader in layout.readers if reader.score == first_score + number]
            assert [reader.token for reader in readers] == option
            for place, reader in enumerate(readers):
                path = read_by(forest, reader.index)
                assert [forest.tokens[index] for index in path] == [*prefix, *prompt, *option[:place]]
                assert [forest.positions[index] for index in path] == list(range(len(path)))
        first_score += len(options)
    assert layout.scores == first_score and layout.sizes == [len(options) for _, options in questions]


@given(QUESTIONS)
def test_in_sorted_order_no_beginning_is_stored_twice(questions):
    read = {(*prompt, *option[:-1]) for prompt, options in questions for option in options}
    beginnings = {sequence[:length] for sequence in read for length in range(1, len(sequence) + 1)}
    prompts_alone = sorted((prompt, []) for prompt, _ in questions)
    assert len(laid_out(prompts_alone).forest) == len({b for b in beginnings if any(tuple(p[: len(b)]) == b for p, _ in questions)})
    [*_, (prompt, options)] = questions
    alone = {(*prompt, *option[:length]) for option in options for length in range(len(option))}
    assert len(laid_out([(prompt, options)]).forest) == len(alone) + len(prompt) - 1


@given(QUESTIONS, st.integers(1, 9), st.integers(1, 20), st.sampled_from([math.inf, 1, 3]))
def test_blocks_have_all_that_their_tokens_read(questions, size, pass_size, fewest):
    forest = laid_out(questions).forest
    covered = []
    for start, stop in passes(0, len(forest), pass_size):
        shared = [[] for _ in range(len(forest))]
        for block in blocks(np.array(forest.ends[:stop]), start, stop, size, fewest):
            keys = block.keys.tolist()
            assert len(set(keys)) == len(keys)
            if block.read_by_all:
                assert len(keys) >= fewest and keys[-1] < block.start
                for index in range(block.start, block.stop):
                    shared[index] += keys
                continue
            covered += range(block.start, block.stop)
            for index in range(block.start, block.stop):
                read = read_by(forest, index)
                assert {*keys, *shared[index]} >= set(read)
                assert set(shared[index]) <= set(read) - set(keys)
                assert len(set(shared[index])) == len(shared[index])
            assert len(keys) <= size + forest.positions[block.start]
    assert covered == list(range(len(forest)))


@pytest.mark.parametrize(
    ("start", "stop", "size", "expected"),
    [(0, 10, 10, [(0, 10)]), (3, 14, 10, [(3, 8), (8, 14)]), (0, 0, 5, [(0, 0)]), (0, 3, 1, [(0, 1), (1, 2), (2, 3)])],
)
def test_passes_are_as_few_and_as_even_as_can_be(start, stop, size, expected):
    assert passes(start, stop, size) == expected
