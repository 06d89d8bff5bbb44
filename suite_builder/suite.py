"""A frozen suite on disk: open it, check it, iterate its rows and labels as an edition reads them.

A suite directory holds `selected-rows.jsonl[.gz]`, from edition 0.2 on `added-rows.jsonl[.gz]`, `excluded-questions.json`
and `manifest.json`. `RowIndex` (row_index.py) adds the label file and row store that make reading fast.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import orjson
from isal import isal_zlib

from suite_builder.catalog import benchmarks
from suite_builder.editions import Edition, edition, editions
from suite_builder.errors import SuiteError
from suite_builder.rows import Label, RawRow, Request, parse_lines

EXCLUSIONS = "excluded-questions.json"
MANIFEST = "manifest.json"
BLOCK = 1 << 18
GZIP = 16 + isal_zlib.MAX_WBITS  # a gzip stream with its header


@dataclass(frozen=True)
class Check:
    """Outcome of one verification: what was checked, whether it holds, and the facts for the reader."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Suite:
    """Rows of one suite as one edition reads them.

    files: the row files in reading order. excluded: run ids that are never scored. manifest: facts of the directory,
    empty for a loose rows file. directory: where label file and row store live, None for a loose rows file.
    """

    files: tuple[Path, ...]
    edition: Edition
    excluded: frozenset[str] = frozenset()
    manifest: dict = field(default_factory=dict)
    directory: Path | None = None

    @classmethod
    def open(cls, directory: Path | str, edition_name: str | None = None) -> "Suite":
        """Open a suite directory.

        Args:
            edition_name: the edition to read it as; by default the newest edition that these files serve.

        Raises:
            SuiteError: no suite there, or its files are those of an edition that `edition_name` does not read.
        """
        directory = Path(directory)
        manifest = _read_json(directory / MANIFEST)
        built_for = edition(manifest.get("edition"))
        wanted = edition(edition_name) if edition_name else _newest_reader(built_for)
        if wanted.files != built_for.files:
            raise SuiteError(
                f"{directory} holds the files of edition {built_for.id}; edition {wanted.id} reads other files. "
                f"Give --suite-dir a folder of that edition (by default {wanted.suite_dir})."
            )
        files = tuple(row_file(directory, stem) for stem in wanted.files if has_row_file(directory, stem))
        if not files:
            raise SuiteError(f"{directory} has a manifest but no rows; run `di-tui suite rebuild` or `suite import` again")
        excluded = frozenset(_read_json(directory / EXCLUSIONS)["rows"])
        return cls(files, wanted, excluded, manifest, directory)

    @classmethod
    def from_rows_file(cls, path: Path | str, edition_name: str | None = None, excluded=frozenset()) -> "Suite":
        """A loose rows file, such as a sample, read as an edition.

        Raises:
            SuiteError: there is no such file.
        """
        path = Path(path)
        if not path.is_file():
            raise SuiteError(f"no rows file {path}; `di-tui suite sample` writes one")
        return cls((path,), edition(edition_name), frozenset(excluded))

    @property
    def partial(self) -> bool:
        """Whether this is less than the edition's published rows."""
        return bool(self.manifest.get("partial", not self.manifest))

    @property
    def name(self) -> str:
        return str(self.directory or self.files[0])

    def rows(self, with_excluded: bool = False) -> Iterator[Request]:
        """Stream the requests that the edition reads, in file order.

        Raises:
            SuiteError: a malformed or unreadable row; the message names file and line.
        """
        for path in self.files:
            for _line, request in parse_lines(read_lines(path), str(path)):
                if self.edition.reads(request) and (with_excluded or request.run_id not in self.excluded):
                    yield request

    def labels(self, with_excluded: bool = False) -> Iterator[Label]:
        """Stream the labels that the edition reads, in file order; from the label file when the suite has one.

        Raises:
            SuiteError: as `rows`.
        """
        from suite_builder.row_index import RowIndex

        index = RowIndex.of(self)
        for label in index.labels() if index else self._labels_of_rows():
            if self.edition.reads(label) and (with_excluded or label.run_id not in self.excluded):
                yield label

    def _labels_of_rows(self) -> Iterator[Label]:
        for path in self.files:
            for _line, row in parse_lines(read_lines(path), str(path), RawRow.from_line):
                yield row.label()

    def require_content(self, content_sha256: dict[str, str]) -> None:
        """Refuse rows that are not the ones this suite should have.

        Args:
            content_sha256: row file stem -> sha256 of its uncompressed content.

        Raises:
            SuiteError: a file differs from the published one (from the recorded one in a partial suite).
        """
        for stem, found in content_sha256.items():
            expected = self._expected(stem)
            if expected not in (None, found):
                raise SuiteError(
                    f"{self.name}: {stem} has sha256 {found[:8]}…, expected {expected[:8]}…; "
                    "import or rebuild it again, or go on with --no-verify"
                )

    def verify(self) -> Iterator[Check]:
        """Check the files against the published sha256, or a partial suite against its manifest and known blocks."""
        for path in self.files:
            yield from self._verify_file(path)

    def _verify_file(self, path: Path) -> Iterator[Check]:
        whole, blocks, rows, broken = hashlib.sha256(), {}, 0, []
        for line, request in parse_lines(read_lines(path), str(path)):
            whole.update(line)
            blocks.setdefault(request.catalog_id, hashlib.sha256()).update(line)
            rows += 1
            if not request.payload_matches():
                broken.append(request.run_id)
        stem = file_stem(path)
        expected = self._expected(stem)
        if expected is not None:
            origin = "recorded" if self.partial else "published"
            yield Check(stem, whole.hexdigest() == expected, f"{rows:,} rows, {origin} sha256 {expected[:8]}…")
        yield Check(f"{stem} payloads", not broken, _payload_detail(rows, broken))
        for catalog_id, digest in blocks.items():
            benchmark = benchmarks().get(catalog_id)
            if self.partial and benchmark and benchmark.frozen_sha256:
                detail = f"{catalog_id} {benchmark.dataset}: known sha256 {benchmark.frozen_sha256[:8]}…"
                yield Check(f"{stem} block", digest.hexdigest() == benchmark.frozen_sha256, detail)

    def _expected(self, stem: str) -> str | None:
        """The published sha256 of a row file, for a partial suite the one in its manifest; None when neither is known."""
        if not self.partial:
            return self.edition.files[stem].sha256
        return self.manifest.get("files", {}).get(f"{stem}.jsonl.gz", {}).get("uncompressed_sha256")


def _payload_detail(rows: int, broken: list[str]) -> str:
    if not broken:
        return f"{rows:,} payload hashes match"
    return f"{len(broken):,} of {rows:,} payloads differ from their payload_sha256, first {broken[0]}"


def _newest_reader(built_for: Edition) -> Edition:
    return [candidate for candidate in editions().values() if candidate.files == built_for.files][-1]


def _read_json(path: Path) -> dict:
    try:
        return orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise SuiteError(
            f"no suite in {path.parent} ({path.name} is missing); make one with `di-tui suite rebuild` or `suite import`"
        ) from None
    except orjson.JSONDecodeError as error:
        raise SuiteError(f"{path} is not valid JSON: {error}") from None


def file_stem(path: Path) -> str:
    """`selected-rows` of `selected-rows.jsonl.gz`."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def has_row_file(directory: Path, stem: str) -> bool:
    return any((directory / f"{stem}{suffix}").is_file() for suffix in (".jsonl.gz", ".jsonl"))


def row_file(directory: Path, stem: str) -> Path:
    """The row file of that stem, gzip or plain."""
    packed = directory / f"{stem}.jsonl.gz"
    return packed if packed.is_file() else directory / f"{stem}.jsonl"


def read_lines(path: Path) -> Iterator[bytes]:
    """Lines of a plain or gzip file, with their ends; raises as `read_blocks`."""
    for block in read_blocks(path):
        yield from BytesIO(block)


def read_blocks(path: Path) -> Iterator[bytes]:
    """Content of a plain or gzip file in blocks of whole lines.

    Raises:
        SuiteError: the file cannot be read or its gzip stream is damaged.
    """
    rest = b""
    try:
        with path.open("rb") as stream:
            for block in _unpacked(stream) if path.suffix == ".gz" else iter(partial(stream.read, BLOCK), b""):
                end = block.rfind(b"\n") + 1
                if end:
                    yield rest + block[:end]
                    rest = b""
                rest += block[end:]
    except (EOFError, isal_zlib.error) as error:
        raise SuiteError(f"{path} is damaged ({error}); import or rebuild it again") from None
    except OSError as error:
        raise SuiteError(f"cannot read {path}: {error.strerror or error}") from None
    if rest:
        yield rest


def _unpacked(stream: BinaryIO) -> Iterator[bytes]:
    """Content of a gzip file, in large blocks: unpacked while other threads run, in less than half of the time that zlib takes.

    Raises:
        EOFError: the file ends within its gzip stream. isal_zlib.error: it is damaged.
    """
    unpacker = None
    while packed := stream.read(BLOCK):
        while packed:
            unpacker = unpacker or isal_zlib.decompressobj(wbits=GZIP)
            yield unpacker.decompress(packed)
            packed = unpacker.unused_data.lstrip(b"\0")  # a further member, after padding
            if unpacker.eof:
                unpacker = None
    if unpacker:
        raise EOFError("its gzip stream is cut off")
