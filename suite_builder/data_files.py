"""Access to the data files that ship inside this package."""

from functools import cache
from importlib.resources import files

import orjson


@cache
def load_json(name: str):
    """Parsed content of `suite_builder/data/<name>`."""
    return orjson.loads(files("suite_builder").joinpath("data", *name.split("/")).read_bytes())


def list_files(folder: str) -> list[str]:
    """Names of the files in `suite_builder/data/<folder>`, as `load_json` takes them, sorted."""
    return sorted(f"{folder}/{file.name}" for file in files("suite_builder").joinpath("data", folder).iterdir())


@cache
def load_lines(name: str) -> tuple[str, ...]:
    """Lines of `suite_builder/data/<name>`, without their ends."""
    return tuple(files("suite_builder").joinpath("data", *name.split("/")).read_text("utf-8").splitlines())
