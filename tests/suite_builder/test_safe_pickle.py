"""Pickled tables from real pandas are read right; pickles that name anything else are refused without running it."""

import os
import pickle
import subprocess
from pathlib import Path

import pytest
from suites import ROOT

from suite_builder.safe_pickle import read_frame

FOLDER = ROOT / "tests" / "fixtures" / "routerbench"
REAL = FOLDER / "routerbench_0shot.pkl"
REAL_SHA256 = "48fbece36e0243443735cdc03c099514e5bbae61de528f98fd4f16c959e677cf"


class Calls:
    """Pickles to a call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def written(folder: Path, data: bytes) -> Path:
    path = folder / "table.pkl"
    path.write_bytes(data)
    return path


def test_a_table_from_pandas_has_its_columns_in_order_with_their_values():
    frame = read_frame(REAL, REAL_SHA256)
    names = list(frame.columns)
    assert names[:6] == ["sample_id", "eval_name", "prompt", "model-k", "model-k|model_response", "model-k|total_cost"]
    assert names[-1] == "oracle_model_to_route_to"
    assert frame.columns["sample_id"].tolist()[:2] == ["sum.2", "sum.5"]
    assert frame.columns["prompt"].tolist()[4] == r"""['Guess: é?', 'One \'word\'.']"""
    assert frame.columns["model-k|model_response"].tolist() == ["invented"] * 10
    assert frame.columns["model-k|total_cost"].tolist()[2:5] == [0.3, 0.4 + 1e-6, 0.5]
    assert frame.columns["model-j"].tolist()[2:5] == [0.5, 1.0, 1 - 1e-13]
    assert str(frame.columns["model-a"].tolist()[6:9]) == "[0.09090909090909091, nan, 1.5]"
    assert frame.sha256 == REAL_SHA256


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_that_calls_os_system_is_refused_and_runs_nothing(tmp_path, protocol):
    ran = tmp_path / "ran"
    data = pickle.dumps(Calls(os.system, f"touch {ran}"), protocol)
    pickle.loads(data)
    assert ran.exists()  # it does run under pickle itself
    ran.unlink()
    with pytest.raises(ValueError, match=r"^table.pkl is no DataFrame .*: it names (posix|nt)\.system$"):
        read_frame(written(tmp_path, data), None)
    assert not ran.exists()


@pytest.mark.parametrize(
    "function, name",
    [
        (eval, "builtins.eval"), (getattr, "builtins.getattr"), (subprocess.Popen, "subprocess.Popen"),
        (bytearray, "builtins.bytearray"), (open, "_?io.open"),
    ],
)
def test_any_name_that_a_table_does_not_need_is_refused(tmp_path, function, name):
    with pytest.raises(ValueError, match=f"it names {name}$"):
        read_frame(written(tmp_path, pickle.dumps(Calls(function, "1"))), None)


@pytest.mark.parametrize("name", ["ndarray.tofile", "dtype.__init__", "load", "numpy"])
def test_nothing_else_of_an_allowed_module_is_reached(tmp_path, name):
    data = pickle.PROTO + b"\x04\x8c\x05numpy\x8c" + bytes([len(name)]) + name.encode() + pickle.STACK_GLOBAL + b"."
    with pytest.raises(ValueError, match=f"it names numpy.{name}$"):
        read_frame(written(tmp_path, data), None)


def test_another_sha256_is_refused_before_anything_is_unpickled(tmp_path):
    path = written(tmp_path, pickle.dumps(Calls(os.system, "true")))
    with pytest.raises(ValueError, match=rf"^table.pkl was not unpickled: its sha256 is \w+, expected {REAL_SHA256}$"):
        read_frame(path, REAL_SHA256)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-300], lambda data: b"", lambda data: b"PAR1" + data, lambda data: pickle.dumps({"a": [1]}),
        lambda data: data.replace(b"O8", b"M8"),
    ],
    ids=["cut off", "empty", "not a pickle", "not a table", "dates"],
)
def test_what_is_no_such_table_is_named(tmp_path, change):
    path = written(tmp_path, change(REAL.read_bytes()))
    with pytest.raises(ValueError, match="^table.pkl is no DataFrame as pandas 2 pickles it: "):
        read_frame(path, None)
