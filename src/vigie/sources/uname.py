"""Kernel and host name, from uname(2)."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, info
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    UNAME := info(
        "node_uname_info",
        "System information of uname(2).",
        "sysname",
        "release",
        "version",
        "machine",
        "nodename",
        "domainname",
    ),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield one series. The NIS domain is read from a file, as Python's uname lacks it."""
    sysname, nodename, release, version, machine = host.calls.uname()
    domainname = host.proc.read_text("sys/kernel/domainname") or ""
    yield UNAME, (sysname, release, version, machine, nodename, domainname), 1


SOURCE = Source("uname", METRICS, read, every=60)
