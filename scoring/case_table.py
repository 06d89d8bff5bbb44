"""cases.parquet: one row per scored field, for browsing, comparing and rescoring without the payloads."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoring.answers import CODES, OK, PENDING, PROBABILITIES, STATUSES, STRANGE, UNREADABLE, Answers, Others
from scoring.cases import Cases
from scoring.columns import Coded, objects
from scoring.gold import NO_OPTION, UNKNOWN, Gold, distinct, spans

_NAME = pa.dictionary(pa.int32(), pa.string())
FORMAT = 1
ROWS_A_GROUP = 65536
DIGITS_OF_PAYLOAD = 16
FACTS = b"di-tui"

# gold, prediction: option keys, `true` or `false` for a noul. p_prediction: how sure the engine was of its choice;
#     p_yes: what it gave the option `yes`, where there is one; p_squares: sum of squares over all options.
# Null: gold of a document without judgment; prediction and probabilities without a readable answer; `correct` of a request
#     that is not `ok` and where fields are not right or wrong one by one (retrieval, routing, forecasts).
# status: as scored, so a result that cannot be used is an `error`. invalid: what is wrong with an `ok` result, whichever
#     way it counts. wall_ms: of the whole request. payload: how the row's payload_sha256 begins.
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("catalog_id", pa.int32()),
        ("dataset", _NAME),
        ("track", _NAME),
        ("group_id", _NAME),
        ("question", pa.string()),
        ("gold", pa.string()),
        ("prediction", pa.string()),
        ("p_gold", pa.float64()),
        ("p_prediction", pa.float64()),
        ("p_yes", pa.float64()),
        ("p_squares", pa.float64()),
        ("correct", pa.bool_()),
        ("status", _NAME),
        ("invalid", pa.string()),
        ("wall_ms", pa.float64()),
        ("payload", _NAME),
    ]
)

# Columns with few distinct values, which a dictionary makes small.
_REPEATED = ["catalog_id", "dataset", "track", "question", "gold", "prediction", "status", "correct", "invalid"]


def write(path: Path, cases: Cases, results: Path) -> None:
    """Write the table, in row order. results: the file that the answers come from; its size and time are kept.

    Raises:
        OSError: the file cannot be written.
    """
    facts = {
        "format": FORMAT,
        "results": _state(results),
        "others": {**vars(cases.answers.others), "counts": dict(cases.answers.others.counts)},
        "repeated": cases.answers.repeated,
    }
    schema = SCHEMA.with_metadata({FACTS: orjson.dumps(facts)})
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=_REPEATED) as writer:
        writer.write_table(pa.table(_columns(cases), schema), row_group_size=ROWS_A_GROUP)


def _state(results: Path) -> list[int]:
    state = results.stat()
    return [state.st_size, state.st_mtime_ns]


def _columns(cases: Cases) -> dict[str, pa.Array]:
    gold, answers, request = cases.gold, cases.answers, cases.gold.request
    answered = (cases.status == OK)[request]
    by_field = [key for key in np.unique(gold.catalog_id).tolist() if cases.rule_of(key).by_field]
    one_by_one = np.isin(gold.catalog_of_field, by_field)
    names = pa.array(gold.all_questions, pa.string())
    return {
        "run_id": pa.array(gold.run_ids, pa.string()).take(pa.array(request)),
        "catalog_id": pa.array(gold.catalog_of_field),
        **{name: _coded(getattr(gold.columns, name), request) for name in ("dataset", "track", "group_id")},
        "question": names.take(pa.array(gold.question)),
        "gold": _keys(gold, gold.gold),
        "prediction": _keys(gold, answers.predicted, answers.strange),
        **{name: pa.array(getattr(answers, name), from_pandas=True) for name in PROBABILITIES},
        "correct": pa.array(cases.hit, mask=~(answered & one_by_one)),
        "status": pa.DictionaryArray.from_arrays(cases.status[request].astype(np.int32), pa.array(STATUSES)),
        "invalid": pa.array([cases.invalid.get(position) for position in range(len(gold))], pa.string()).take(pa.array(request)),
        "wall_ms": pa.array(answers.wall_ms[request], from_pandas=True),
        "payload": pa.array(_payloads(gold), pa.string()).dictionary_encode().take(pa.array(request)),
    }


def _payloads(gold: Gold) -> list[str]:
    return [sha256[:DIGITS_OF_PAYLOAD] for sha256 in gold.columns.payload_sha256]


def _coded(texts: Coded, request: np.ndarray) -> pa.Array:
    """A text a request, repeated for every field."""
    return pa.DictionaryArray.from_arrays(pa.array(texts.codes[request], pa.int32()), pa.array(texts.values, pa.string()))


def _keys(gold: Gold, options: np.ndarray, strange: dict[int, str] | None = None) -> pa.Array:
    """Option keys of fields, null where there is none. strange: field -> text where it is none of the options."""
    strange = strange or {}
    keys = pa.array([*gold.all_keys, *strange.values()], pa.string())
    place = gold.first_key + np.maximum(options, 0)
    place[list(strange)] = len(gold.all_keys) + np.arange(len(strange))
    return keys.take(pa.array(place, mask=options == NO_OPTION))


def made_from(path: Path, results: Path) -> bool:
    """Whether there is a table that was written from these results as they are now."""
    try:
        schema = pq.read_schema(path)
        facts = orjson.loads(schema.metadata[FACTS])
        return schema.equals(SCHEMA) and (facts["format"], facts["results"]) == (FORMAT, _state(results))
    except (OSError, pa.ArrowInvalid, KeyError, TypeError):
        return False


class Stored:
    """A table taken apart: its requests, and where the fields of each start."""

    def __init__(self, path: Path):
        with pq.ParquetFile(path) as file:
            self.table = file.read()
        self.facts = orjson.loads(self.table.schema.metadata[FACTS])
        run_ids = self.table["run_id"].combine_chunks()
        first = np.flatnonzero(np.append(len(run_ids) > 0, pc.not_equal(run_ids[1:], run_ids[:-1]).to_numpy(zero_copy_only=False)))
        self.bounds = np.append(first, len(run_ids))
        names = ("run_id", "invalid", "status", "payload")
        self.run_ids, self.invalid, statuses, self.payloads = (objects(self.table[name].take(first)) for name in names)
        scored = np.array([CODES[name] for name in statuses], np.int8)
        self.is_invalid = np.array([text is not None for text in self.invalid], bool)
        self.status = np.where(self.is_invalid, OK, scored)
        self.wall_ms = self._floats("wall_ms")[first]

    def _floats(self, name: str) -> np.ndarray:
        return self.table[name].to_numpy(zero_copy_only=False).astype(float)

    def answers(self, gold: Gold, excluded: Collection[str]) -> Answers | None:
        """Answers to rows of any edition; None when the results may hold some that the table lacks, or the rows are others."""
        others = Others(**{**self.facts["others"], "counts": Counter(self.facts["others"]["counts"])})
        places = gold.positions_of(self.run_ids)
        source = np.flatnonzero(places != UNKNOWN)
        positions = places[source]
        if others.strangers and len(positions) < len(gold):
            return None
        fields, stored = gold.fields_of(positions), spans(self.bounds[source], np.diff(self.bounds)[source])
        if not self._is_of(gold, positions, source, fields, stored):
            return None
        answers = Answers.none(gold)
        answers.status[positions], answers.wall_ms[positions] = self.status[source], self.wall_ms[source]
        for name in PROBABILITIES:
            getattr(answers, name)[fields] = self._floats(name)[stored]
        _set_predictions(answers, gold, fields, self.table["prediction"].take(stored))
        invalid = source[self.is_invalid[source]].tolist()
        answers.problems = {int(places[place]): self.invalid[place] for place in invalid}
        answers.repeated = [run_id for run_id in self.facts["repeated"] if run_id in gold.places]
        for place in np.flatnonzero((places == UNKNOWN) & (self.status != PENDING)).tolist():
            others.add(self.run_ids[place], int(self.status[place]), float(self.wall_ms[place]), excluded)
        answers.others = others
        return answers

    def _is_of(self, gold: Gold, positions: np.ndarray, source: np.ndarray, fields: np.ndarray, stored: np.ndarray) -> bool:
        """Whether payloads and questions are those of the rows."""
        payloads = _payloads(gold)
        if [self.payloads[place] for place in source.tolist()] != [payloads[place] for place in positions.tolist()]:
            return False
        asked = pa.array(gold.all_questions, pa.string()).take(pa.array(gold.question[fields]))
        return self.table["question"].take(stored).combine_chunks().equals(asked)


def _set_predictions(answers: Answers, gold: Gold, fields: np.ndarray, keys: pa.ChunkedArray) -> None:
    """Places of the chosen options of fields."""
    coded = keys.combine_chunks().dictionary_encode()
    codes, texts = coded.indices.fill_null(-1).to_numpy(), objects(coded.dictionary)
    first, kind = distinct(gold.question[fields], codes + 1)
    chosen = zip(fields[first], codes[first], strict=True)
    places = [_place(gold, field, texts[code]) if code >= 0 else UNREADABLE for field, code in chosen]
    answers.predicted[fields] = np.array(places, int)[kind]
    for place in np.flatnonzero(answers.predicted[fields] == STRANGE).tolist():
        answers.strange[int(fields[place])] = texts[codes[place]]


def _place(gold: Gold, field: int, key: str) -> int:
    start = gold.first_key[field]
    options = gold.all_keys[start : start + gold.options[field]]
    return options.index(key) if key in options else STRANGE
