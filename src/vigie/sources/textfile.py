"""Metrics that other programs leave behind in *.prom files."""

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
    MODIFIED := gauge("node_textfile_mtime_seconds", "When the file was last written, in Unix time.", "file"),
    ERROR := gauge(
        "node_textfile_scrape_error", "1 if a file or the directory could not be read, 0 otherwise."
    ),
    untyped("*", "Whatever the files say, with the help, type and labels that they give."),
)
OURS = frozenset({MODIFIED.name, ERROR.name})

DIRECTORY = SourceOption("directory", "", "Directory whose *.prom files are read; none when empty.")

MOST_FILES = 1000
MOST_BYTES = 4 << 20  # in one file
MOST_BYTES_IN_ALL = 16 << 20
MOST_SERIES = 10_000

Stamp = tuple[int, ...]


class InvalidTextfileError(Exception):
    """A file is left out; the message says why."""


class TextFile(NamedTuple):
    """A file as it was when it was last read."""

    stamp: Stamp
    families: dict[str, TextFamily]
    reason: str  # why it was refused, if it was


def read(host: Host) -> Iterator[Sample]:
    """Yield what the files say, when each was written, and whether one was refused."""
    directory = host.options.get(DIRECTORY.name, DIRECTORY.default)
    if not directory:
        host.note("directory", "set it in [source.textfile] to read the *.prom files of a directory")
        yield ERROR, (), 0
        return
    try:
        stamps = _stamps(directory)
    except OSError as error:
        host.note(directory, error)
        yield ERROR, (), 1
        return
    if host.cache.get("stamps") != stamps:
        known: dict[str, TextFile] = host.cache.get("files", {})
        files = host.cache["files"] = _files(stamps, known)
        host.cache["samples"], host.cache["refusals"] = _merged(files, host.reserved_names | OURS)
        host.cache["stamps"] = stamps
    yield from host.cache["samples"]
    refusals: dict[str, str] = host.cache["refusals"]
    for path, reason in refusals.items():
        host.note(path, reason)
    yield ERROR, (), int(bool(refusals))


def _stamps(directory: str) -> dict[str, Stamp]:
    """Return what changes whenever a file does, by its path."""
    paths = sorted(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".prom"))
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError as error:
        return (error.errno or 0,)
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def _files(stamps: dict[str, Stamp], known: dict[str, TextFile]) -> dict[str, TextFile]:
    files: dict[str, TextFile] = {}
    room = MOST_BYTES_IN_ALL
    for place, (path, stamp) in enumerate(stamps.items()):
        old = known.get(path)
        if place >= MOST_FILES or room <= 0:
            files[path] = TextFile((), {}, "there are too many files, or they are too large")
        elif old is not None and old.stamp == stamp:
            files[path] = old
        else:
            files[path] = _read(path, stamp)
        room -= stamp[2] if len(stamp) > 2 else 0
    return files


def _read(path: str, stamp: Stamp) -> TextFile:
    try:
        return TextFile(stamp, parse(_text(path)), "")
    except OSError as error:
        return TextFile(stamp, {}, error.strerror or str(error))
    except (InvalidTextfileError, ValueError) as error:
        return TextFile(stamp, {}, str(error))


def _text(path: str) -> str:
    if not stat.S_ISREG(os.stat(path).st_mode):  # a device may do something when it is opened
        raise InvalidTextfileError("not a regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidTextfileError(f"larger than {MOST_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidTextfileError("not text in UTF-8") from None


def _merged(files: dict[str, TextFile], reserved: frozenset[str]) -> tuple[list[Sample], dict[str, str]]:
    """Return the samples of all files, each family in one piece, and the files that do not fit."""
    merged = _Merged(reserved)
    refusals: dict[str, str] = {}
    times: list[Sample] = []
    for path, file in files.items():
        reason = file.reason or merged.add(path, file)
        if reason:
            refusals[path] = reason
        else:
            times.append((MODIFIED, (to_printable(path),), file.stamp[0] // 1_000_000_000))
    return [*times, *merged.samples()], refusals


class _Merged:
    """The families of several files."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._reserved = reserved
        self._samples: dict[str, list[Sample]] = {}
        self._kinds: dict[str, str] = {}
        self._seen: dict[tuple[str, Pairs], str] = {}

    def add(self, path: str, file: TextFile) -> str:
        """Take in a file whole, or return why not."""
        series = [
            (name, tuple(pair for pair in pairs if pair[1]))  # an empty label is no label
            for family in file.families.values()
            for name, pairs, _ in family.rows
        ]
        if len(self._seen) + len(series) > MOST_SERIES:
            return f"with this file there would be more than {MOST_SERIES} series"
        for name, family in file.families.items():
            kind = family.kind or "untyped"
            if name in self._reserved or self._kinds.get(name, kind) != kind:
                return f"{name} ({kind}) already is the name of another metric"
        for key in series:
            if key in self._seen:
                return f"a series of {key[0]} that {self._seen[key]} has, too"
        name_of_file = to_printable(os.path.basename(path))
        self._seen.update((key, name_of_file) for key in series)
        for name, family in file.families.items():
            self._kinds[name] = family.kind or "untyped"
            self._samples.setdefault(name, []).extend(family.samples(f"Read from {name_of_file}."))
        return ""

    def samples(self) -> Iterator[Sample]:
        """Yield everything, one family after the other."""
        for samples in self._samples.values():
            yield from samples


SOURCE = Source("textfile", METRICS, read, options=(DIRECTORY,))
