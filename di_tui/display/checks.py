"""Shows verification results: a line a check."""

from rich.console import Console
from rich.text import Text

from di_tui.display.run import write_line
from suite_builder.suite import Suite


def show_checks(suite: Suite, as_json: bool) -> bool:
    """Run and show every check of a suite; whether all hold."""
    console, all_hold = Console(highlight=False), True
    for check in suite.verify():
        all_hold &= check.ok
        if as_json:
            write_line({"event": "check", "name": check.name, "ok": check.ok, "detail": check.detail})
        else:
            symbol, style = ("✓", "green") if check.ok else ("×", "red")
            console.print(Text.assemble((f"{symbol} {check.name}", style), f"  {check.detail}"))
    return all_hold
