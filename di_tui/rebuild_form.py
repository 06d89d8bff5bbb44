"""A rebuild as a person describes it: what is filled in, what is wrong with it, and the command line that it comes to.

Knows no screen.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from di_tui.display.rebuild import megabytes
from di_tui.rebuild_job import RebuildRequest
from suite_builder.inventory import to_download
from suite_builder.store import Store
from suite_builder.suite import MANIFEST


@dataclass(frozen=True)
class RebuildForm:
    """The texts of the fields; empty where nothing was filled in. only: catalog ids. partial: whether a suite that lacks
    benchmarks is written."""

    edition: str
    only: str = ""
    mirror: str = ""
    suite_dir: str = ""
    work: str = ""
    partial: bool = False

    @property
    def _ids(self) -> list[int]:
        """Raises:
        ValueError: `only` holds something else than numbers.
        """
        return [int(number) for number in self.only.replace(",", " ").split()]

    def request(self) -> RebuildRequest:
        """Raises:
        ValueError: `only` holds something else than numbers.
        """
        return RebuildRequest(
            work=Path(self.work),
            suite_dir=Path(self.suite_dir) if self.suite_dir else None,
            edition=self.edition,
            only=self._ids or None,
            mirror=Path(self.mirror) if self.mirror else None,
            allow_partial=self.partial and not self.only,
        )

    def arguments(self) -> list[str]:
        """The command line after `di-tui`; without what cannot be read."""
        try:
            return list(self.request().arguments())
        except ValueError:
            return ["suite", "rebuild"]

    def command(self) -> str:
        return shlex.join(["di-tui", *self.arguments()])

    def errors(self) -> dict[str, str]:
        checks = {
            "only": self._only_error(),
            "mirror": f"no folder {self.mirror}" if self.mirror and not Path(self.mirror).is_dir() else None,
            "work": None if self.work else "the folder for sources and intermediate files",
        }
        return {field: error for field, error in checks.items() if error}

    def _only_error(self) -> str | None:
        try:
            unknown = set(self._ids) - set(RebuildRequest(edition=self.edition).wanted)
        except ValueError:
            return "catalog ids, such as 4 9 34, or nothing for all"
        return f"edition {self.edition} has no benchmark {', '.join(map(str, sorted(unknown)))}" if unknown else None

    def note(self) -> str:
        """How much is to be downloaded, and what is there already."""
        if self.errors():
            return ""
        request = self.request()
        coming = sum(to_download(Store(request.work, request.mirror), key) for key in request.wanted)
        facts = [f"about {megabytes(coming)} to download" if coming else "nothing to download, as far as is known"]
        if (request.directory / MANIFEST).is_file():
            facts.append(f"{request.directory} holds a suite, which is brought up to date")
        return f"– {'; '.join(facts)}"
