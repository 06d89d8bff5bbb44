"""Habermas Machine: which statement a group, whose opinions are given, ranks highest."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, numbered
from suite_builder.recipes.records import naming, parquet_records, typed
from suite_builder.rows import sha256_text
from suite_builder.sources import pinned, sources

CATALOG_ID = 50
STYLE = PLAIN

TRACK = "Habermas-consensus"
FILE = "hm_all_candidate_comparisons.parquet"
COLUMNS = (
    "metadata.id", "metadata.version", "metadata.status", "round_id", "iteration_index",
    "question.id", "question.split", "question.text",
    "rankings.metadata.status", "rankings.candidate_ids", "rankings.numerical_ranks",
    "candidates.metadata.id", "candidates.text",
    "own_opinion.metadata.id", "own_opinion.text", "other_opinions.metadata.id",
)
INSTRUCTIONS = (
    "Choose the consensus statement you predict this group would rank highest on average, given their expressed"
    " opinions. Each participant has equal weight. Assess the group's preferences, rather than your own policy"
    " preference."
)
PROTOCOL = (
    "Initial iteration; complete human panel; minimum summed rank; exact ties accepted. Named consensus-selection "
    "adaptation, not the original end-to-end mediation experiment."
)

Record = Mapping[str, Any]


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per panel, the participants who ranked the same candidates in a round, if it is whole and clear.

    Raises:
        ValueError: a malformed record, or a panel at odds with itself; names file and record or round.
    """
    panels = defaultdict(list)
    for place, record in parquet_records(FILE, files[FILE], COLUMNS):
        with naming(place):
            if _is_wanted(record):
                candidates = tuple(sorted(record["rankings.candidate_ids"] or ()))
                panels[record["round_id"], candidates].append(record)
    written = set()
    for (round_id, candidates), panel in sorted(panels.items(), key=itemgetter(0)):
        with naming(f"{FILE}, round {round_id}"):
            if _is_whole(panel) and _are_clear(candidates, panel[0]):
                _check(panel, candidates)
                if round_id in written:
                    raise ValueError("two of its panels are whole")
                written.add(round_id)
                yield TRACK, _row(round_id, panel, candidates)


def _is_wanted(record: Record) -> bool:
    """Whether it is a completed ranking of the first iteration in a test split of an evaluation cohort."""
    return (
        str(record["metadata.version"]).startswith("EVAL")
        and record["question.split"] in ("IID_TEST", "OOD_TEST")
        and record["metadata.status"] == record["rankings.metadata.status"] == "COMPLETED"
        and record["iteration_index"] == 0
    )


def _is_whole(panel: Sequence[Record]) -> bool:
    """Whether every opinion that the first participant was shown is that of one participant, and no other is."""
    own = [record["own_opinion.metadata.id"] for record in panel]
    return len(set(own)) == len(own) and set(own) == _opinions(panel[0])


def _opinions(record: Record) -> set[str]:
    return {record["own_opinion.metadata.id"], *record["other_opinions.metadata.id"]}


def _are_clear(candidates: Sequence[str], record: Record) -> bool:
    """Whether there are 2 to 255 candidates, each with a text, and no two with the same but for white space."""
    if not 2 <= len(candidates) <= 255:
        return False
    texts = _texts(candidates, record)
    has_text = all(isinstance(text, str) and text.strip() for text in texts)
    return has_text and len({" ".join(text.split()) for text in texts}) == len(texts)


def _texts(candidates: Sequence[str], record: Record) -> list[str | None]:
    text_of = dict(zip(record["candidates.metadata.id"], record["candidates.text"], strict=True))
    return [text_of.get(candidate) for candidate in candidates]


def _check(panel: Sequence[Record], candidates: Sequence[str]) -> None:
    def shown(record: Record) -> tuple:
        return record["question.text"], _opinions(record), _texts(candidates, record)

    for record in panel:
        if shown(record) != shown(panel[0]):
            raise ValueError("its participants were not shown the same question, opinions and candidates")
        ranks = typed(int, *record["rankings.numerical_ranks"])
        if len(ranks) != len(candidates) or not set(ranks) <= set(range(len(candidates))):
            raise ValueError(f"expected a rank from 0 to {len(candidates) - 1} for each candidate, found {ranks}")


def _row(round_id: str, panel: Sequence[Record], candidates: Sequence[str]) -> dict[str, Any]:
    reference = panel[0]
    ordered = sorted(candidates, key=lambda candidate: sha256_text(f"{round_id}{candidate}"))
    criteria = numbered(_texts(ordered, reference))
    human_ranks = [_ranks(numbered(ordered), record) for record in panel]
    summed = {option: sum(ranks[option] for ranks in human_ranks) for option in criteria}
    accepted = [option for option, total in summed.items() if total == min(summed.values())]
    by_opinion = sorted(panel, key=itemgetter("own_opinion.metadata.id"))
    return {
        "id": f"{TRACK}:{round_id}",
        "family": TRACK,
        "split": reference["question.split"],
        "state": {
            "policy_question": reference["question.text"],
            "participant_opinions": [record["own_opinion.text"] for record in by_opinion],
        },
        "questions": {"consensus": choice(INSTRUCTIONS, criteria)},
        "expected": {"consensus": accepted[0]},
        "scoring": {
            "type": "human_group_rank",
            "summed_ranks": summed,
            "accepted": accepted,
            "panel_size": len(panel),
            "human_ranks": human_ranks,
            "scorer": "evaluation.adapters.habermas_consensus:score_choice",
        },
        "metadata": {
            "group_id": round_id,
            "cohort": reference["metadata.version"],
            "question_id": reference["question.id"],
            "source_rows": [record["metadata.id"] for record in panel],
            "source_sha256": pinned(CATALOG_ID, FILE).sha256,
            "source_revision": next(source.revision for source in sources()[CATALOG_ID] if source.revision),
            "protocol": PROTOCOL,
        },
    }


def _ranks(candidate_of: Mapping[str, str], record: Record) -> dict[str, int]:
    """Option key -> rank that a participant gave it, 0 for the best."""
    rank_of = dict(zip(record["rankings.candidate_ids"], record["rankings.numerical_ranks"], strict=True))
    return {option: rank_of[candidate] for option, candidate in candidate_of.items()}
