"""ACOS: which pairs of aspect category and sentiment a product or restaurant review expresses."""

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.sources import pinned, sources

CATALOG_ID = 38
STYLE = PLAIN

STEMS = {"Laptop-ACOS": "laptop_quad", "Restaurant-ACOS": "rest16_quad"}
PARTS = ("dev", "test", "train")
SENTIMENTS = {"0": "negative", "1": "neutral", "2": "positive"}
PAIRS_A_ROW = 64

INSTRUCTIONS = (
    "Given the review below, decide whether it expresses at least one aspect-category/sentiment pair "
    "({category}, {sentiment}) anywhere in the review. Answer yes only when that exact category and sentiment pair "
    "is present; answer no otherwise. Multiple opposite sentiments are separate valid questions."
)
CRITERIA = {
    "yes": "The exact category/sentiment pair is present.",
    "no": "The exact category/sentiment pair is absent.",
}

Pair = tuple[str, str]


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """The reviews of each domain's test file, a row for every 64 pairs of the domain's inventory.

    Raises:
        ValueError: a line that is not a review and its quadruples; names the line.
    """
    for domain, stem in STEMS.items():
        paths = {part: f"data/{domain}/{stem}_{part}.tsv" for part in PARTS}
        parts = {part: list(_reviews(path, files[path])) for part, path in paths.items()}
        categories = {category for reviews in parts.values() for _text, pairs in reviews for category, _ in pairs}
        inventory = sorted(product(categories, SENTIMENTS))
        groups = [inventory[start : start + PAIRS_A_ROW] for start in range(0, len(inventory), PAIRS_A_ROW)]
        for row in _domain_rows(domain, paths["test"], parts["test"], groups):
            yield "ACOS-category-sentiment", row


def _reviews(path: str, file: Path) -> Iterator[tuple[str, set[Pair]]]:
    """(text, pairs that it expresses) of every review."""
    with file.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line == "\n":
                continue
            text, *quadruples = line.removesuffix("\n").split("\t")
            tokens = [quadruple.split() for quadruple in quadruples]
            if not tokens or any(len(four) != 4 or four[2] not in SENTIMENTS for four in tokens):
                raise ValueError(f"{path}, line {number}: expected a review and quadruples of four, separated by tabs")
            yield text, {(category, sentiment) for _aspect, category, sentiment, _opinion in tokens}


def _domain_rows(
    domain: str, path: str, reviews: list[tuple[str, set[Pair]]], groups: list[list[Pair]]
) -> Iterator[dict[str, Any]]:
    source, revision = pinned(CATALOG_ID, path), sources()[CATALOG_ID][0].revision
    questions = [{_key(*pair): _question(*pair) for pair in group} for group in groups]
    for number, (text, present) in enumerate(reviews, start=1):
        group_id = f"{domain}:{Path(path).stem}:line-{number}"
        for place, group in enumerate(groups):
            yield {
                "id": f"ACOS:category-sentiment:{group_id}:group-{place + 1}",
                "family": "ACOS-category-sentiment",
                "split": "test",
                "state": {"review": text, "task": "ACOS fixed category/sentiment presence"},
                "questions": questions[place],
                "expected": {_key(*pair): "yes" if pair in present else "no" for pair in group},
                "metadata": {
                    "provenance": {
                        "source": source.row_path,
                        "sha256": source.sha256,
                        "revision": revision,
                        "source_line": number,
                    },
                    "adaptation_scope": (
                        "Named category/sentiment presence projection; full ACOS tuple extraction is not claimed."
                    ),
                    "category_inventory": group,
                    "inventory_group": place + 1,
                    "inventory_group_count": len(groups),
                    "group_id": group_id,
                    "asserted_label_mapping": SENTIMENTS,
                    "counts": {"source_reviews": len(reviews), "questions_per_review": len(group)},
                },
            }


def _key(category: str, sentiment: str) -> str:
    return f"{category}__sentiment_{SENTIMENTS[sentiment]}"


def _question(category: str, sentiment: str) -> dict[str, Any]:
    return choice(INSTRUCTIONS.format(category=category, sentiment=SENTIMENTS[sentiment]), CRITERIA)
