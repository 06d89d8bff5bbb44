import re

import pytest

from suite_builder import subsets
from suite_builder.data_files import load_lines
from suite_builder.errors import SuiteError
from suite_builder.subsets import Subset, draw


def test_the_acos_subset_drawn_from_the_published_pools_is_the_shipped_list(shared):
    # Line numbers of the two files, from 1; every line is a review.
    pools = {}
    for domain, path in (("Laptop-ACOS", "laptop_quad_test"), ("Restaurant-ACOS", "rest16_quad_test")):
        source = next((shared / "sources" / "38").rglob(f"{path}.tsv"))
        count = len(source.read_text("utf-8").splitlines())
        pools[domain] = [f"{domain}:{path}:line-{number}" for number in range(1, count + 1)]
    drawn = draw(38, [group for pool in pools.values() for group in pool])
    assert sorted(drawn) == sorted(load_lines("acos-groups.txt"))


STEMS = (
    "apibank apigen appbench webtools_food webtools_music webtools_weather craft_Math_algebra craft_Tabmwp craft_Vqa "
    "gorilla_huggingface gorilla_pytorch gorilla_tensor gpt4tools gta metatool_which mnms webtools_spotify webtools_tmdb "
    "reversechain rotbench t_eval_dialog t_eval_step taskbench_daily taskbench_huggingface taskbench_multimedia "
    "tool_be_honest toolACE toolalpaca toolbench toolbench_sam toolemu tooleyes toolink toolLens ultraTool"
).split()
DOMAINS = (
    "apibank apigen appbench autotools-food autotools-music autotools-weather craft-math-algebra craft-tabmwp craft-vqa "
    "gorilla-huggingface gorilla-pytorch gorilla-tensor gpt4tools gta metatool mnms restgpt-spotify restgpt-tmdb "
    "reversechain rotbench t-eval-dialog t-eval-step taskbench-daily taskbench-huggingface taskbench-multimedia "
    "tool-be-honest toolace toolalpaca toolbench toolbench-sam toolemu tooleyes toolink toollens ultratool"
).split()
POOLS = (
    "100 917 32 21 12 3 280 174 200 500 43 55 32 14 200 27 40 52 199 550 44 45 39 23 40 350 933 94 1077 197 36 94 497 310 474"
)


def test_the_toolret_subset_drawn_from_the_rebuilt_pools_has_the_published_sha256():
    excluded = {
        match[1] for line in load_lines("excluded-run-ids.txt") if (match := re.match(r"2:[^:]+:[^:]+:([^:]+:[^:\t]+)", line))
    }
    groups = []
    for domain, stem, pool in zip(DOMAINS, STEMS, map(int, POOLS.split()), strict=True):
        own = {group for group in excluded if group.startswith(f"{domain}:")}
        groups += [f"{domain}:{stem}_query_{number}" for number in range(pool + len(own))]
    assert len(excluded) == 257 and excluded <= set(groups) and len(groups) == 7961
    drawn = draw(2, groups, excluded)
    assert len(drawn) == 1000
    assert sum(group.startswith("autotools-weather:") for group in drawn) == 1


def test_other_groups_than_the_published_ones_are_noticed():
    with pytest.raises(SuiteError, match="subset of benchmark 2 has sha256"):
        draw(2, [f"apibank:apibank_query_{number}" for number in range(2000)])


def test_seats_go_by_largest_fraction_and_every_domain_keeps_one(monkeypatch):
    monkeypatch.setitem(subsets.SUBSETS, 2, Subset(10, 1))
    groups = [f"{domain}:{n:03}" for domain, size in (("a", 50), ("b", 45), ("c", 4), ("d", 1)) for n in range(size)]
    drawn = draw(2, groups, excluded_groups=["a:000"])
    # Shares of 10 over 49 + 45 + 4 + 1: a 4.95, b 4.55, c 0.40 and d 0.10, which are lifted to 1.
    assert [sum(group.startswith(domain) for group in drawn) for domain in "abcd"] == [4, 4, 1, 1]
    assert "a:000" not in drawn and drawn == sorted(drawn)

