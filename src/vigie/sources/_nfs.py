"""Parser shared by NFS client and server statistics: lines of a key and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vigie.model import Metric, Sample
from vigie.sources.core.host import Host

# Procedures of each protocol version, by number.
V2 = (
    "Null GetAttr SetAttr Root Lookup ReadLink Read WrCache Write Create Remove Rename Link SymLink "
    "MkDir RmDir ReadDir FsStat"
)
V3 = (
    "Null GetAttr SetAttr Lookup Access ReadLink Read Write Create MkDir SymLink MkNod Remove RmDir "
    "Rename Link ReadDir ReadDirPlus FsStat FsInfo PathConf Commit"
)
TRAILING_COLUMNS = "-"

Lines = Mapping[str, list[int]]
Figure = tuple[str, int, Metric, tuple[str, ...]]  # line, position, metric, labels
Protocol = tuple[str, str, Sequence[str]]  # line, name, procedures


def parse_lines(host: Host, path: str, widths: Mapping[str, int]) -> Lines:
    """Return the numbers of each line by its key. Short or invalid lines are omitted."""
    found: dict[str, list[int]] = {}
    for line in host.proc.read(path).split("\n"):
        key, *words = line.split() or [""]
        width = widths.get(key)
        if width is None:
            continue
        if len(words) < width or "-" in line:
            host.note(f"/proc/{path} {key}", "too few numbers, or invalid counters")
            continue
        try:
            # A procedure line starts with the number of procedures. Others end with unused columns.
            found[key] = [int(word) for word in (words[:width] if width > 1 else words)]
        except ValueError as error:
            host.note(f"/proc/{path} {key}", error)
    return found


def yield_figures(found: Lines, wanted: Sequence[Figure]) -> Iterator[Sample]:
    """Yield single numbers of the lines."""
    for key, place, metric, labels in wanted:
        if key in found:
            yield metric, labels, found[key][place]


def yield_requests(
    host: Host, found: Lines, metric: Metric, protocols: Sequence[Protocol]
) -> Iterator[Sample]:
    """Yield requests by procedure. Older kernels have fewer procedures."""
    for key, protocol, procedures in protocols:
        count, *numbers = found.get(key, [0])
        if count != len(numbers):
            host.note(f"/proc/net/rpc {key}", f"{len(numbers)} procedures, expected {count}")
            continue
        for procedure, number in zip(procedures, numbers):
            if procedure != TRAILING_COLUMNS:
                yield metric, (protocol, procedure), number
