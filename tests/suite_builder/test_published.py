"""Every benchmark whose sources are at hand, rebuilt and held to its published checksums. None may be skipped."""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from recipe_sources import assert_published, published_requests

from suite_builder.catalog import benchmarks
from suite_builder.freeze import added_lines
from suite_builder.recipes import bbh, home_appliance
from suite_builder.rows import Request
from suite_builder.tokens import cl100k_counter

# Catalog ids whose recipes say "Verified" and whose sources a mirror can hold; 9 is generated.
VERIFIED = (1, 4, 5, 11, 12, 21, 22, 24, 26, 27, 28, 29, 30, 32, 34, 38, 39, 40, 42, 43)


@pytest.mark.parametrize("catalog_id", VERIFIED, ids=lambda catalog_id: benchmarks()[catalog_id].recipe)
def test_a_benchmark_has_its_published_checksums_and_requests(shared, catalog_id):
    assert (shared / "sources" / str(catalog_id)).is_dir()
    recipe = import_module(f"suite_builder.recipes.{benchmarks()[catalog_id].recipe}")
    with TemporaryDirectory() as folder:  # up to 900 MB, which pytest would keep
        assert_published(recipe, shared, Path(folder))


def test_the_generated_benchmark_has_its_published_checksum_and_requests(shared, tmp_path):
    assert_published(home_appliance, shared, tmp_path)


def test_the_added_benchmark_has_its_published_requests(shared):
    folder = shared / "sources" / "58"
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*.json")}
    counter = cl100k_counter(shared / "sources" / "2" / "cl100k_base.tiktoken")
    requests = [Request.from_line(line.encode()) for line in added_lines(benchmarks()[58], bbh.rows(files), counter)]
    assert len(requests) == 5507
    built = {request.run_id: request.evaluation for request in requests}
    published = published_requests(shared, 58)
    assert len(published) == 46
    for expected in published:
        assert {key: value for key, value in expected.items() if value}.items() <= built[expected["run_id"]].items()


def test_no_mirrored_source_is_left_out(shared):
    in_part = {2, 3, 10, 61, 62}  # their rows cannot be checked as a whole
    there = {int(path.name) for path in (shared / "sources").iterdir() if path.name.isdigit()}
    assert there == {*VERIFIED, *in_part, 58}
