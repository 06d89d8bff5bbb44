"""cases.parquet: one row per scored field, for browsing, comparing and rescoring without the payloads."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scoring.cases import OK, Case, option_key
from scoring.editions import Edition

_NAME = pa.dictionary(pa.int32(), pa.string())
ROWS_A_GROUP = 65536

# gold, prediction: option keys, `true` or `false` for a noul.
# Null: gold of a document without judgment; prediction, probabilities and `correct` of a request that is not `ok`;
#     `correct` also where fields are not right or wrong one by one (retrieval, routing, forecasts).
# status: as scored, so an answer that cannot be used is an `error`. wall_ms: of the whole request.
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("catalog_id", pa.int32()),
        ("dataset", _NAME),
        ("track", _NAME),
        ("group_id", pa.string()),
        ("question", pa.string()),
        ("gold", pa.string()),
        ("prediction", pa.string()),
        ("p_gold", pa.float64()),
        ("p_prediction", pa.float64()),
        ("correct", pa.bool_()),
        ("status", _NAME),
        ("wall_ms", pa.float64()),
    ]
)


def write(path: Path, cases: Sequence[Case], edition: Edition) -> None:
    """Write the table, in row order.

    Raises:
        OSError: the file cannot be written.
    """
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        columns: dict[str, list] = {name: [] for name in SCHEMA.names}
        for row in _rows(cases, edition):
            for name, value in zip(SCHEMA.names, row, strict=True):
                columns[name].append(value)
            if len(columns["run_id"]) == ROWS_A_GROUP:
                writer.write_table(pa.table(columns, SCHEMA))
                columns = {name: [] for name in SCHEMA.names}
        writer.write_table(pa.table(columns, SCHEMA))


def _rows(cases: Sequence[Case], edition: Edition) -> Iterator[tuple[Any, ...]]:
    """Values in the order of SCHEMA."""
    for case in cases:
        by_field = edition.benchmark(case.catalog_id).by_field
        answered = case.status == OK
        head = (case.run_id, case.catalog_id, case.dataset, case.track, case.group_id)
        for field in case.fields:
            given = (option_key(field.prediction), field.p_gold, field.p_prediction) if answered else (None, None, None)
            correct = field.hit if answered and by_field else None
            yield (*head, field.question, option_key(field.gold), *given, correct, case.status, case.wall_ms)
