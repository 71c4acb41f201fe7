"""File descriptors, from /proc/sys/fs/file-nr."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    ALLOCATED := gauge("node_filefd_allocated", "Allocated file descriptors."),
    MAXIMUM := gauge("node_filefd_maximum", "Maximum number of file descriptors."),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the first and third number. The second is 0 since Linux 2.6."""
    words = host.proc.read("sys/fs/file-nr").split()
    try:
        yield ALLOCATED, (), int(words[0])
        yield MAXIMUM, (), int(words[2])
    except (ValueError, IndexError) as error:
        host.note("/proc/sys/fs/file-nr", error)


SOURCE = Source("filefd", METRICS, read)
