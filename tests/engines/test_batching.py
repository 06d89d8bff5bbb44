"""From windows to batches: what stays together, how large batches get, and that they are made ahead."""

import threading

import pytest

from engines.batching import LARGEST, Asked, ahead, batches, lay_out
from engines.packing import Layout
from engines.rendering import TokenizedQuestion


def asked(position: int, *prompts: list[int]) -> Asked:
    tokens = {f"q{number}": TokenizedQuestion(prompt, [[1], [2]]) for number, prompt in enumerate(prompts)}
    return Asked(position, {}, tokens)


def positions(made: list[list[Asked]]) -> list[list[int]]:
    return [[one.position for one in batch] for batch in made]


def test_batches_keep_to_their_tokens_and_a_larger_request_stands_alone():
    sizes = (40, 50, 30, 250, 60, 39)
    requests = [asked(number, [number] * size) for number, size in enumerate(sizes)]
    assert positions(list(batches(requests, Layout, 100))) == [[0, 1], [2], [3], [4, 5]]


def test_requests_that_share_a_long_beginning_stay_together_up_to_a_limit():
    beginning = list(range(90))
    requests = [asked(number, beginning + [100 + number] * 20) for number in range(60)]
    made = list(batches(requests, Layout, 100))
    assert positions(made) == [list(range(35)), list(range(35, 60))]
    layout = Layout()
    lay_out(made[0], layout)
    assert layout.new_tokens == 90 + 35 * 20 <= LARGEST * 100


def test_what_every_prompt_begins_with_keeps_no_requests_together():
    beginning = list(range(90))
    requests = [asked(number, beginning + [100 + number] * 20) for number in range(6)]
    assert positions(list(batches(requests, lambda: Layout(beginning), 60))) == [[0, 1, 2], [3, 4, 5]]


def test_questions_lie_next_to_those_that_share_most_with_them():
    layout = Layout()
    added = lay_out([asked(7, [1, 2, 3], [5, 6], [1, 2, 4])], layout)
    assert added == [(7, "q0"), (7, "q2"), (7, "q1")]
    assert layout.new_tokens == 6


def test_a_request_without_questions_for_the_model_rides_along():
    assert positions(list(batches([asked(0, [1] * 200), asked(1), asked(2)], Layout, 100))) == [[0, 1, 2]]


def test_items_are_made_ahead_in_order_and_no_further_than_asked():
    made, third = [], threading.Event()

    def make():
        for number in range(5):
            made.append(number)
            if number == 2:
                third.set()
            yield number

    items = ahead(make(), 2)
    assert next(items) == 0
    assert third.wait(10)
    items.close()
    assert made == [0, 1, 2]


def test_what_goes_wrong_ahead_is_raised_in_its_turn():
    def make():
        yield 1
        raise OSError("no more")

    items = ahead(make(), 3)
    assert next(items) == 1
    with pytest.raises(OSError, match="no more"):
        next(items)
