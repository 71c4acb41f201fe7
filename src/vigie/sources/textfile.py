"""Metrics from *.prom files written by other programs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample, gauge, untyped
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption
from vigie.sources.core.text_format import Pairs, TextFamily, parse
from vigie.sources.core.tree import to_printable

METRICS = (
    MODIFIED := gauge("node_textfile_mtime_seconds", "Unix time of the file's last modification.", "file"),
    ERROR := gauge(
        "node_textfile_scrape_error", "1 if a file or the directory could not be read, 0 otherwise."
    ),
    untyped("*", "Metrics of the files, with their own help, type and labels."),
)
OWN_PREFIX = frozenset({MODIFIED.name, ERROR.name})

DIRECTORY = SourceOption("directory", "", "Directory of *.prom files. Empty: disabled.")

MAX_FILES = 1000
MAX_BYTES = 4 << 20  # per file
MAX_TOTAL_BYTES = 16 << 20
MAX_SERIES = 10_000

Stamp = tuple[int, ...]


class InvalidTextfileError(Exception):
    """The file is skipped; the message says why."""


class TextFile(NamedTuple):
    """A file as last read."""

    stamp: Stamp
    families: dict[str, TextFamily]
    reason: str  # why it was rejected, if it was


def read(host: Host) -> Iterator[Sample]:
    """Yield the metrics of the files, their modification times, and the error flag."""
    directory = host.options.get(DIRECTORY.name, DIRECTORY.default)
    if not directory:
        host.note("directory", "set `directory` in [source.textfile] to read *.prom files")
        yield ERROR, (), 0
        return
    try:
        stamps = _read_stamps(directory)
    except OSError as error:
        host.note(directory, error)
        yield ERROR, (), 1
        return
    if host.cache.get("stamps") != stamps:
        known: dict[str, TextFile] = host.cache.get("files", {})
        files = host.cache["files"] = _read_files(stamps, known)
        host.cache["samples"], host.cache["refusals"] = _merge(files, host.reserved_names | OWN_PREFIX)
        host.cache["stamps"] = stamps
    yield from host.cache["samples"]
    refusals: dict[str, str] = host.cache["refusals"]
    for path, reason in refusals.items():
        host.note(path, reason)
    yield ERROR, (), int(bool(refusals))


def _read_stamps(directory: str) -> dict[str, Stamp]:
    """Return what changes with a file, by path."""
    paths = sorted(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".prom"))
    return {path: _read_stamp(path) for path in paths}


def _read_stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError as error:
        return (error.errno or 0,)
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def _read_files(stamps: dict[str, Stamp], known: dict[str, TextFile]) -> dict[str, TextFile]:
    files: dict[str, TextFile] = {}
    room = MAX_TOTAL_BYTES
    for place, (path, stamp) in enumerate(stamps.items()):
        old = known.get(path)
        if place >= MAX_FILES or room <= 0:
            files[path] = TextFile((), {}, "too many files, or files too large")
        elif old is not None and old.stamp == stamp:
            files[path] = old
        else:
            files[path] = _read_file(path, stamp)
        room -= stamp[2] if len(stamp) > 2 else 0
    return files


def _read_file(path: str, stamp: Stamp) -> TextFile:
    try:
        return TextFile(stamp, parse(_read_text(path)), "")
    except OSError as error:
        return TextFile(stamp, {}, error.strerror or str(error))
    except (InvalidTextfileError, ValueError) as error:
        return TextFile(stamp, {}, str(error))


def _read_text(path: str) -> str:
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device may have side effects
        raise InvalidTextfileError("not a regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidTextfileError(f"larger than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidTextfileError("not UTF-8") from None


def _merge(files: dict[str, TextFile], reserved: frozenset[str]) -> tuple[list[Sample], dict[str, str]]:
    """Return the samples of all files, grouped by family, and the rejected files."""
    merged = _MergedFamilies(reserved)
    refusals: dict[str, str] = {}
    times: list[Sample] = []
    for path, file in files.items():
        reason = file.reason or merged.add(path, file)
        if reason:
            refusals[path] = reason
        else:
            times.append((MODIFIED, (to_printable(path),), file.stamp[0] // 1_000_000_000))
    return [*times, *merged.samples()], refusals


class _MergedFamilies:
    """Families of several files."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._reserved = reserved
        self._samples: dict[str, list[Sample]] = {}
        self._kinds: dict[str, str] = {}
        self._seen: dict[tuple[str, Pairs], str] = {}

    def add(self, path: str, file: TextFile) -> str:
        """Add a whole file, or return the reason for rejecting it."""
        series = [
            (name, tuple(pair for pair in pairs if pair[1]))  # an empty label equals a missing one
            for family in file.families.values()
            for name, pairs, _ in family.rows
        ]
        if len(self._seen) + len(series) > MAX_SERIES:
            return f"more than {MAX_SERIES} series with this file"
        for name, family in file.families.items():
            kind = family.kind or "untyped"
            if name in self._reserved or self._kinds.get(name, kind) != kind:
                return f"{name} ({kind}) is the name of another metric"
        for key in series:
            if key in self._seen:
                return f"duplicate series of {key[0]}, also in {self._seen[key]}"
        name_of_file = to_printable(os.path.basename(path))
        self._seen.update((key, name_of_file) for key in series)
        for name, family in file.families.items():
            self._kinds[name] = family.kind or "untyped"
            self._samples.setdefault(name, []).extend(family.samples(f"Read from {name_of_file}."))
        return ""

    def samples(self) -> Iterator[Sample]:
        for samples in self._samples.values():
            yield from samples


SOURCE = Source("textfile", METRICS, read, options=(DIRECTORY,))
