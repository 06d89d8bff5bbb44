"""Options that several commands share, named as in the public kit, and how their values are read."""

from pathlib import Path
from typing import Annotated

import typer

Edition = Annotated[str | None, typer.Option("--edition", help="Edition: 0.1, 0.2, 0.2.1 (default) or 0.3.")]
SuiteDir = Annotated[Path | None, typer.Option("--suite-dir", help="Suite directory; by default that of the edition.")]
Rows = Annotated[Path | None, typer.Option("--rows", help="A loose rows file, such as a sample, instead of a suite.")]
Work = Annotated[Path, typer.Option("--work", help="Where sources and intermediate files are kept.")]
Mirror = Annotated[
    Path | None,
    typer.Option("--mirror", envvar="DI_SOURCES", help="Read sources from this folder (<catalog id>/<path>), not the net."),
]
Only = Annotated[
    list[str] | None, typer.Option("--only", help="Only these catalog ids: --only 4 5 9, --only 4,5,9 or repeated.")
]
AllowPartial = Annotated[bool, typer.Option("--allow-partial", help="Write the suite even if benchmarks are missing.")]
Compare = Annotated[
    Path | None, typer.Option("--compare", help="Then say which run ids and payloads differ from this rows file.")
]
NoVerify = Annotated[bool, typer.Option("--no-verify", help="Do not insist on the published sha256.")]
Engine = Annotated[str, typer.Option("--engine", help="random, lexical, http, transformers, openai, vllm, or module:Class.")]
Model = Annotated[str | None, typer.Option("--model", help="Model name, Hub id, local directory or GGUF file.")]
EngineOption = Annotated[list[str] | None, typer.Option("--option", help="Engine option NAME=VALUE; repeat for more.")]
Out = Annotated[Path, typer.Option("--out", help="Run directory.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many requests of the run's order.")]
Compact = Annotated[bool, typer.Option("--compact", help="Results without payload and raw output.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Move an earlier run there aside and start anew.")]
Order = Annotated[
    str, typer.Option("--order", help="interleaved (any first part is a fair sample) or file (order of the rows).")
]
WithExcluded = Annotated[bool, typer.Option("--with-excluded", help="Ask the excluded requests too.")]
TakeOver = Annotated[bool, typer.Option("--take-over", help="Continue a run whose writer on another host is gone.")]
StopAfterErrors = Annotated[int, typer.Option("--stop-after-errors", min=1, help="Stop after so many errors in a row.")]
Latency = Annotated[bool, typer.Option("--latency", help="One request at a time, each timed alone, instead of batches.")]
Shard = Annotated[str | None, typer.Option("--shard", help="Only part i of n of the suite, by whole groups: 1/3. See merge.")]
DataParallel = Annotated[int, typer.Option("--data-parallel", min=1, help="Engine processes, each with a device of its own.")]
Detach = Annotated[bool, typer.Option("--detach", help="Leave the run going in a process of its own and return.")]
NoUi = Annotated[bool, typer.Option("--no-ui", help="Headless: progress on a terminal, JSON lines otherwise.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per line instead of text.")]


def parse_options(texts: list[str] | None) -> dict[str, str]:
    """`NAME=VALUE` texts as a dict.

    Raises:
        typer.BadParameter: a text without `=`.
    """
    options = {}
    for text in texts or ():
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--option")
        options[name] = value
    return options


def parse_only(texts: list[str] | None, option: str = "--only") -> list[int] | None:
    """Catalog ids of one or more values of an option, each with one or more ids.

    Raises:
        typer.BadParameter: something that is not a number.
    """
    if not texts:
        return None
    try:
        return [int(number) for text in texts for number in text.replace(",", " ").split()]
    except ValueError:
        raise typer.BadParameter(f"{' '.join(texts)!r} is not a list of catalog ids", param_hint=option) from None


def join_only(arguments: list[str]) -> list[str]:
    """`--only 4 5 9` as the one value that an option takes: `--only "4 5 9"`."""
    joined: list[str] = []
    for argument in arguments:
        follows_only = len(joined) >= 2 and joined[-2] == "--only"
        if follows_only and argument.replace(",", "").isdigit():
            joined[-1] += f" {argument}"
        else:
            joined.append(argument)
    return joined
