"""Home appliance simulator: requests to a made-up smart home, with an oracle for what they should do. It has no source.

A row comes from a household h, which is a home, and an offset o, which picks one of 20 scenarios: a request and, in
some, a change of the home before it. The oracle handles the request on a copy; the questions ask how, for which devices
and with what outcome, and for the state of devices before and after.
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from suite_builder.data_files import load_json
from suite_builder.recipes.common import SORTED_RAW, choice
from suite_builder.rows import frozen_json, sha256_text

CATALOG_ID = 9
STYLE = SORTED_RAW
DATA = ("home-appliance.json",)

TABLES = load_json(*DATA)
SEED = TABLES["seed"]
ROWS_A_HOUSEHOLD = 10


def rows(_files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """The rows of the test households."""
    for row in generate("test"):
        yield "Home-Appliance", row


def generate(split: str) -> Iterator[dict]:
    """All rows of a split, `dev` or `test`. The suite holds `test` alone."""
    for h, household in enumerate(TABLES["households"]["dev"] + TABLES["households"]["test"]):
        if household in TABLES["households"][split]:
            for o in range(ROWS_A_HOUSEHOLD):
                yield _row(split, household, h, o)


def _row(split: str, household: str, h: int, o: int) -> dict[str, Any]:
    home = Home(h)
    scenario = list(WISHES)[(7 * h + o) % len(WISHES)]
    for part, change in CHANGES.get(scenario, {}).items():
        getattr(home, part).update(change)
    wish = WISHES[scenario](home)
    final, oracle = _handle(home.state, wish)
    asked = list(_questions(home, final, wish, oracle, home.devices[(h + o) % len(home.devices)]))
    questions, expected, roles = _shuffled(asked, h, o)
    return {
        "id": f"home-appliance:{split}:{household}:{o:02}",
        "family": "Home-Appliance",
        "split": split,
        "state": {**home.state, "request": _request(home, scenario, wish, h, o)},
        "questions": questions,
        "expected": expected,
        "metadata": {
            "seed": SEED,
            "household_family": household,
            "scenario_family": scenario,
            "template_family": f"{split}:{scenario}:surface-{(h + o) % 2}",
            "intent_spec": wish,
            "question_roles": roles,
            "oracle": oracle,
        },
    }


class Home:
    """State of household h, with short names for the devices of scenarios: L and A are the lights and plugs by room."""

    def __init__(self, h: int):
        rooms = TABLES["room_sets"][h % 4]
        self.devices = devices = [device for i, room in enumerate(rooms) for device in _room_devices(h, i, room)]
        devices += (
            _device(rooms[0], "island_light", "Island Lights", "light", 16, power=h % 2 == 1, brightness=65),
            _device(
                rooms[0], "thermostat", "Thermostat", "thermostat", 3,
                power=True, temperature=21, min_temperature=16, max_temperature=26,
            ),
            _device(rooms[1], "speaker", "Bookshelf Speaker", "speaker", 18, power=False, volume=35),
            _device(rooms[3], "lock", "Side Door", "lock", 1, locked=h % 2 == 0),
        )
        self.L0, self.A0, self.L1, self.A1, self.L2, self.A2 = devices[:6]
        self.thermostat, self.speaker, self.lock = devices[-3:]
        self.evening = [self.A0, self.A1, self.speaker]
        self.downstairs = self.in_rooms(*rooms[:2])
        self.policy = {
            "multi_action": "atomic",
            "conflict": "last_wins",
            "allow_partial": False,
            "security_mode": "home" if h % 3 else "away",
            "away_unlock": "blocked",
            "unavailable_action": "blocked",
        }
        self.state = {
            "now": TABLES["now"],
            "outside_temperature": 12 + h % 12,
            "rooms": rooms,
            "room_aliases": {"back room": rooms[2:4]},
            "devices": devices,
            "groups": {"evening": _ids(self.evening), "downstairs": _ids(self.downstairs)},
            "device_context": self.A1["id"],
            "policy": self.policy,
            "schedules": [],
            "rules": [],
        }

    def in_rooms(self, *rooms: str, kind: str | None = None) -> list[dict]:
        """The devices in these rooms, all or of one kind, in list order."""
        return [device for device in self.devices if device["room"] in rooms and kind in (None, device["kind"])]


def _room_devices(h: int, i: int, room: str) -> Iterator[dict[str, Any]]:
    """Light and plug of room i."""
    lit, (plug, watts) = (h + i) % 2 == 1, TABLES["plugs"][i]
    yield _device(room, "light", TABLES["lights"][i], "light", 8 + 3 * i, power=lit, brightness=20 + 15 * i)
    yield _device(room, "plug", plug, "appliance", watts, power=not lit)


def _device(room: str, suffix: str, name: str, kind: str, watts: int, **properties: Any) -> dict[str, Any]:
    device_id = f"{room.replace(' ', '_')}_{suffix}"
    return {"id": device_id, "name": name, "room": room, "kind": kind, "available": True, "watts": watts, **properties}


def _ids(devices: Iterable[dict]) -> list[str]:
    return [device["id"] for device in devices]


def _acts(kind: str, *operations: tuple[dict, str, Any], **more: Any) -> dict[str, Any]:
    """A wish to set properties; an operation is (device, property, value)."""
    return {"kind": kind, "ops": [[device["id"], name, value] for device, name, value in operations], **more}


def _power(value: bool, devices: Iterable[dict]) -> list[tuple[dict, str, bool]]:
    return [(device, "power", value) for device in devices]


def _clarify(*candidates: dict) -> dict[str, Any]:
    return {"kind": "clarify", "candidates": _ids(candidates)}


# What a scenario changes in the home before its state is taken: part of the home -> new values.
CHANGES: dict[str, dict[str, dict]] = {
    "atomic_block": {"A1": {"available": False}},
    "last_wins": {"policy": {"multi_action": "ordered"}},
    "partial_unavailable": {
        "A1": {"available": False},
        "policy": {"allow_partial": True, "multi_action": "best_effort"},
    },
    "security_policy": {"policy": {"security_mode": "away"}},
    "ordered_sequence": {"policy": {"multi_action": "ordered"}},
}

# What is wanted in each scenario, in the published order of scenarios.
WISHES = {
    "exact_toggle": lambda home: _acts("execute", (home.A0, "power", not home.A0["power"])),
    "room_except": lambda home: _acts(
        "execute",
        *_power(False, (light for light in home.in_rooms(home.L0["room"], kind="light") if light is not home.L0)),
    ),
    "named_group": lambda home: _acts("execute", *_power(True, home.evening)),
    "duplicate_name": lambda home: _clarify(home.L0, home.L2),
    "already_satisfied": lambda home: _acts("no_change", (home.speaker, "power", home.speaker["power"])),
    "range_reject": lambda home: _acts(
        "unsupported", (home.thermostat, "temperature", 30), reason="outside supported range"
    ),
    "atomic_block": lambda home: _acts(
        "blocked", *_power(True, (home.A0, home.A1)), reason="atomic request contains unavailable device"
    ),
    "future_schedule": lambda home: _acts("schedule", (home.A2, "power", False), at="22:15"),
    "conditional_rule": lambda home: _acts(
        "rule", (home.thermostat, "temperature", 22), condition=["outside_temperature", "below", 15]
    ),
    "power_filter": lambda home: _acts(
        "execute",
        *_power(False, (plug for plug in home.in_rooms(home.A0["room"], kind="appliance") if plug["watts"] > 100)),
    ),
    "context_pronoun": lambda home: _acts("execute", (home.A1, "power", False)),
    "missing_device": lambda home: _clarify(),
    "relative_level": lambda home: _acts("execute", (home.L1, "brightness", min(100, home.L1["brightness"] + 20))),
    "room_alias_ambiguous": lambda home: _clarify(
        *home.in_rooms(*home.state["room_aliases"]["back room"], kind="light")
    ),
    "last_wins": lambda home: _acts("execute", (home.A0, "power", True), (home.A0, "power", False)),
    "partial_unavailable": lambda home: _acts("execute_partial", *_power(True, (home.A0, home.A1))),
    "security_policy": lambda home: _acts(
        "blocked", (home.lock, "locked", False), reason="away mode blocks unlock"
    ),
    "ordered_sequence": lambda home: _acts(
        "execute", (home.L1, "power", False), (home.L1, "brightness", 40), (home.L1, "power", True)
    ),
    "group_exception": lambda home: _acts(
        "execute", *_power(False, (device for device in home.downstairs if device is not home.A0))
    ),
    "status_query": lambda home: {"kind": "query", "target": home.thermostat["id"], "property": "temperature"},
}


def _request(home: Home, scenario: str, wish: dict, h: int, o: int) -> str:
    """The request in words; device names in lower case."""
    text = TABLES["requests"][scenario]
    if scenario == "exact_toggle":
        text = text["odd" if (h + o) % 2 else "even"]["on" if wish["ops"][0][2] else "off"]
    names = {part: getattr(home, part)["name"].lower() for part in ("A0", "A1", "A2", "L1", "speaker", "lock")}
    return text.format(room0=home.L0["room"], room2=home.L2["room"], **names)


def _handle(state: dict, wish: dict) -> tuple[dict[str, dict], dict[str, Any]]:
    """Handle a wish on a copy of the home.

    Returns:
        (devices afterwards by id, oracle); the oracle has status, targets, changed operations and outcome in words.
    """
    final = {device["id"]: device for device in deepcopy(state["devices"])}
    status, operations, changed = wish["kind"], wish.get("ops", []), []
    if status in ("execute", "execute_partial"):
        for device_id, name, value in operations:
            device = final[device_id]
            if device["available"] and device[name] != value:
                device[name] = value
                changed.append([device_id, name, value])
        status = status if changed else "no_change"
    targets = {device_id for device_id, _name, _value in operations} | {*wish.get("candidates", ())}
    if "target" in wish:
        targets.add(wish["target"])
    outcome = "; ".join(f"{device_id}.{name} becomes {frozen_json(value)}" for device_id, name, value in changed)
    fixed = TABLES["outcome"].get(status, TABLES["outcome"]["none"])
    return final, {"status": status, "targets": sorted(targets), "changed": changed, "outcome": outcome or fixed}


def _questions(
    home: Home, final: dict[str, dict], wish: dict, oracle: dict, probe: dict
) -> Iterator[tuple[str, str, list[str], str]]:
    """(role, instructions, option texts, correct text) of every question, in order; option texts may repeat."""
    status, targets, outcome = oracle["status"], oracle["targets"], oracle["outcome"]

    table = TABLES["resolution"]
    yield "resolution", table["instructions"], list(table["options"].values()), table["options"][status]

    table = TABLES["target_member"]
    for device_id in _ids(home.devices):
        correct = table["yes" if status != "clarify" and device_id in targets else "no"]
        instructions = table["instructions"].format(id=device_id)
        yield f"target_member:{device_id}", instructions, [table["yes"], table["no"]], correct

    table = TABLES["outcome"]
    distractors = [table["none"], table["schedule"], table["rule"]]
    distractors += [f"{target}.power becomes {value}" for target in targets[:1] for value in ("true", "false")]
    yield "outcome", table["instructions"], [outcome, *distractors], outcome

    table = TABLES["state_read"]
    name = "power" if "power" in probe else "locked"
    instructions = table["instructions"].format(property=name, name=probe["name"], room=probe["room"])
    true, false = (f"{probe['id']}.{name} is {frozen_json(value)}" for value in (probe[name], not probe[name]))
    yield "state_read", instructions, [true, false, table["missing"]], true

    table = TABLES["post"]
    before = {device["id"]: device for device in home.devices}
    for n, (device_id, name, value) in enumerate(wish.get("ops", [])[:2]):
        values = (final[device_id][name], value, before[device_id][name])
        options = [*map(frozen_json, values), table["missing"]]
        yield f"post_{n}", table["instructions"].format(property=name, id=device_id), options, options[0]


def _shuffled(asked: list[tuple[str, str, list[str], str]], h: int, o: int) -> tuple[dict, dict, dict]:
    """Questions, gold keys and roles by question key, under random option order and random keys.

    One generator serves the row: per question one shuffle of the distinct option texts, then one draw per option key.
    """
    generator = random.Random(f"home-benchmark:{SEED}:{h}:{o}")
    questions, expected, roles = {}, {}, {}
    for position, (role, instructions, texts, correct) in enumerate(asked):
        key = "q_" + sha256_text(f"qid:{SEED}:{h}:{o}:{position}")[:10]
        texts = list(dict.fromkeys(texts))
        generator.shuffle(texts)
        criteria = {"k_" + sha256_text(f"{key}:{i}:{generator.random()}")[:8]: text for i, text in enumerate(texts)}
        questions[key] = choice(instructions, criteria)
        expected[key] = next(option for option, text in criteria.items() if text == correct)
        roles[key] = role
    return questions, expected, roles
