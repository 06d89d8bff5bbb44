"""The columns of a pickled pandas DataFrame, read without pandas and without running what the pickle names.

A pickle is a program that calls what it names. Here it may name only what pandas 2 with numpy 1 writes for a table, and
what is then called is a stand-in of this module, which does no more than put the given data together.
"""

import hashlib
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DTYPE = re.compile("[biu][1248]|f[48]|O8")


@dataclass(frozen=True)
class Frame:
    """A table. columns: name -> values in row order; sha256: hex, of the file that it was read from."""

    columns: dict[str, np.ndarray]
    sha256: str


def read_frame(path: Path, sha256: str | None) -> Frame:
    """Read a pickled DataFrame.

    Args:
        sha256: what the file must hash to before it is unpickled; None where none is published.

    Raises:
        ValueError: another sha256, a name that is not allowed, or no such table; names the file.
    """
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
        if sha256 not in (None, found):
            raise ValueError(f"{path.name} was not unpickled: its sha256 is {found}, expected {sha256}")
        stream.seek(0)
        try:
            return Frame(_Unpickler(stream).load().columns, found)
        except Exception as error:  # a malformed pickle can raise anything
            raise ValueError(f"{path.name} is no DataFrame as pandas 2 pickles it: {error}") from None


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in STAND_INS:
            raise ValueError(f"it names {module}.{name}")
        return STAND_INS[module, name]


class _DataFrame:
    """columns: name -> values, set by the state: the blocks of columns, and the names of columns and rows."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        blocks, (names, _index) = state["_mgr"]
        self.columns = dict.fromkeys(names["data"].numpy)
        for values, places in blocks:
            places = places if isinstance(places, slice) else places.numpy
            self.columns |= zip(names["data"].numpy[places], values.numpy, strict=True)


class _Array:
    """A numpy array, of objects in C order or over the bytes of numbers; one made without it gets it as its state."""

    def __init__(self, array: np.ndarray | None = None):
        self.numpy = array

    def __setstate__(self, state: tuple) -> None:
        _version, shape, dtype, fortran, data = state
        if isinstance(data, list):
            self.numpy = np.fromiter(data, object, len(data)).reshape(shape)
        else:
            self.numpy = _frombuffer(data, dtype, shape, "F" if fortran else "C").numpy


def _frombuffer(data: bytes, dtype: "_Dtype", shape: tuple[int, ...], order: str) -> _Array:
    return _Array(np.frombuffer(data, dtype.numpy).reshape(shape, order=order))


class _Dtype:
    """A numpy dtype; its state says little more than its byte order."""

    def __init__(self, name: str, _align: bool, _copy: bool):
        if not DTYPE.fullmatch(name):
            raise ValueError(f"dtype {name!r}")
        self.numpy = np.dtype(name)

    def __setstate__(self, state: tuple) -> None:
        self.numpy = self.numpy.newbyteorder(state[1])


STAND_INS = {
    ("pandas.core.frame", "DataFrame"): _DataFrame,
    ("pandas.core.internals.managers", "BlockManager"): lambda blocks, axes: (blocks, axes),
    ("pandas._libs.internals", "_unpickle_block"): lambda values, places, _dimensions: (values, places),
    ("pandas.core.indexes.base", "_new_Index"): lambda _kind, state: state,
    ("pandas.core.indexes.base", "Index"): None,
    ("pandas.core.indexes.range", "RangeIndex"): None,
    ("numpy.core.multiarray", "_reconstruct"): lambda _kind, _shape, _code: _Array(),
    ("numpy.core.numeric", "_frombuffer"): _frombuffer,
    ("numpy", "ndarray"): None,
    ("numpy", "dtype"): _Dtype,
    ("builtins", "slice"): slice,
}
