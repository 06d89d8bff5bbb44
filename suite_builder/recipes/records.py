"""Records of source files one by one, and checks that turn a bad one into an error saying where it stands.

Knows no benchmark. A place is text such as `test.csv, record 3`; records are counted from 0.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

RECORDS_AT_ONCE = 1024
READ_AT_ONCE = 1 << 20  # bytes

Value = TypeVar("Value")


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Turn what goes wrong inside over the content of a source into an error that begins with `place`.

    Raises:
        ValueError: a key is missing, or a value has the wrong type or is none of those it can be.
    """
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{place}: {error} is missing") from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None


def places(path: str, records: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """(place, record) of the records of the source file at `path`."""
    return ((f"{path}, record {index}", record) for index, record in enumerate(records))


def json_lines(path: str, file: Path) -> Iterator[tuple[str, Any]]:
    """(place, record) of a JSON Lines file; `path` is its name in errors.

    Raises:
        ValueError: a line is not JSON.
    """
    with file.open("rb") as lines:
        for place, line in places(path, lines):
            with naming(place):
                record = json.loads(line)
            yield place, record


def parquet_records(path: str, file: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of a Parquet file; `path` is its name in errors.

    Raises:
        ValueError: the file is not Parquet, or a column is missing.
    """
    from pyarrow.parquet import ParquetFile

    with naming(path):
        # Without these pyarrow reads ahead until it holds the whole file.
        table = ParquetFile(file, pre_buffer=False, buffer_size=READ_AT_ONCE)
    with table:
        if missing := set(columns) - set(table.schema_arrow.names):
            raise ValueError(f"{path}: no column {', '.join(sorted(missing))}")
        batches = table.iter_batches(RECORDS_AT_ONCE, columns=columns)
        yield from places(path, (record for batch in batches for record in batch.to_pylist()))


def typed(kind: type[Value], *values: Any) -> tuple[Value, ...]:
    """The values, if all are of this kind.

    Raises:
        ValueError: one is not.
    """
    for value in values:
        if not isinstance(value, kind):
            raise ValueError(f"expected {kind.__name__}, found {value!r}")
    return values


def option_key(options: Iterable[str], answers: Sequence[Any], answer: Any) -> str:
    """The option key that stands where `answer` stands among `answers`, what the source calls the options in order.

    Raises:
        ValueError: there are not as many options as answers, or the answer is none of them.
    """
    keys = list(options)
    if len(keys) != len(answers):
        raise ValueError(f"expected {len(answers)} options, found {len(keys)}")
    if answer not in answers:
        raise ValueError(f"answer {answer!r} is none of {list(answers)}")
    return keys[answers.index(answer)]
