"""Open files of the whole machine, from /proc/sys/fs/file-nr."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    ALLOCATED := gauge("node_filefd_allocated", "Open files of all processes, as the kernel counts them."),
    MAXIMUM := gauge("node_filefd_maximum", "Open files beyond which the kernel refuses to open more."),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the first and the third number; the second has been 0 since Linux 2.6."""
    words = host.proc.read("sys/fs/file-nr").split()
    try:
        yield ALLOCATED, (), int(words[0])
        yield MAXIMUM, (), int(words[2])
    except (ValueError, IndexError) as error:
        host.note("/proc/sys/fs/file-nr", error)


SOURCE = Source("filefd", METRICS, read)
