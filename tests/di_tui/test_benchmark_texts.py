"""Every benchmark says what it asks, how it is scored and where it comes from."""

import re

import pytest

from di_tui.benchmark_texts import about, licence, origins
from scoring.editions import edition
from suite_builder.catalog import benchmarks
from suite_builder.editions import editions

ENDS = re.compile(r"\.(?: |$)")


@pytest.mark.parametrize("catalog_id", benchmarks())
def test_a_benchmark_is_told_in_two_sentences_in_every_edition(catalog_id):
    for name in editions():
        assert len(ENDS.findall(about(catalog_id, edition(name)))) == 2


@pytest.mark.parametrize("catalog_id", benchmarks())
def test_a_benchmark_names_licence_and_pinned_pages(catalog_id):
    pages = list(origins(catalog_id))
    assert licence(catalog_id) == benchmarks()[catalog_id].licence
    assert bool(pages) == (benchmarks()[catalog_id].origin != "Purpose-built benchmarks")
    assert all(page.startswith("https://") for page in pages)


def test_the_way_of_scoring_is_that_of_the_edition():
    assert "every answer is right" in about(38, edition("0.2"))
    assert "review by review" in about(38, edition("0.2.1"))


def test_what_is_no_benchmark_of_the_suite_has_no_text():
    assert (about(999, edition("0.2.1")), list(origins(999)), licence(999)) == ("", [], "–")
