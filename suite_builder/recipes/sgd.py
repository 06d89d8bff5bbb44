"""SGD: which intent of a service the user has at a turn of a dialogue, or none."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming, places
from suite_builder.sources import pinned

CATALOG_ID = 10
STYLE = PLAIN

TRACK = "SGD-service-given-intent"
SCHEMA = "test/schema.json"
NONE = "NONE"
INSTRUCTIONS = (
    "Using the dialogue history and service schema in state, choose the active intent for this service. "
    "Choose NONE when no service intent is active. Do not use future turns or hidden labels."
)


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per frame of a user turn whose service is in the schema; its history is the whole dialogue.

    Raises:
        ValueError: a malformed service or dialogue; names file and record.
    """
    with naming(SCHEMA):
        services = {service["service_name"]: service for service in json.loads(files[SCHEMA].read_bytes())}
        options_of = {name: _options(service) for name, service in services.items()}
    for path in sorted(files.keys() - {SCHEMA}):
        content = files[path].read_bytes()
        with naming(path):
            dialogues = json.loads(content)
        source = {"source": pinned(CATALOG_ID, path).row_path, "sha256": hashlib.sha256(content).hexdigest()}
        for place, dialogue in places(path, dialogues):
            with naming(place):
                dialogue_rows = list(_dialogue_rows(dialogue, services, options_of, source))
            yield from ((TRACK, row) for row in dialogue_rows)


def _options(service: Mapping[str, Any]) -> dict[str, str]:
    names = [*(intent["name"] for intent in service["intents"]), NONE]
    return dict(zip(names, names, strict=True))


def _dialogue_rows(
    dialogue: Mapping[str, Any], services: Mapping[str, dict], options_of: Mapping[str, dict], source: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    history = [{"speaker": turn["speaker"], "utterance": turn["utterance"]} for turn in dialogue["turns"]]
    for ti, turn in enumerate(dialogue["turns"]):
        if turn["speaker"] != "USER":
            continue
        for fi, frame in enumerate(turn["frames"]):
            service, gold = frame["service"], frame["state"].get("active_intent", NONE)
            options = options_of.get(service, {})
            if gold in options:
                yield {
                    "id": f"{TRACK}:test:{dialogue['dialogue_id']}:{ti}:{fi}",
                    "family": TRACK,
                    "split": "test",
                    "state": {
                        "history": history,
                        "service": service,
                        "schema": services[service],
                        "task": "SGD current-service intent",
                    },
                    "questions": {"intent": choice(INSTRUCTIONS, options)},
                    "expected": {"intent": gold},
                    "metadata": {
                        "provenance": {
                            **source,
                            "revision": "source snapshot 2026-09-18",
                            "dialogue_id": dialogue["dialogue_id"],
                            "turn_index": ti,
                            "service": service,
                        },
                        "adaptation_scope": (
                            "Current-service intent classification; no system future turn or gold span is supplied."
                        ),
                        "counts": {"service_intent_candidates": len(options)},
                    },
                }
