"""Token counts of the published examples, by the real tokenizer."""

import orjson
import pytest
from added_examples import example

from suite_builder.catalog import benchmarks
from suite_builder.freeze import added_lines
from suite_builder.tokens import cl100k_counter


@pytest.mark.parametrize("catalog_id", [57, 59, 62, 64])
def test_the_tokens_of_a_published_example_are_those_of_cl100k_base(shared, catalog_id):
    count = cl100k_counter(shared / "sources" / "2" / "cl100k_base.tiktoken")
    [line] = example(catalog_id)["lines"]
    row = orjson.loads(line)
    del row["_evaluation"]
    assert list(added_lines(benchmarks()[catalog_id], [row], count)) == [line.removesuffix("\n")]
