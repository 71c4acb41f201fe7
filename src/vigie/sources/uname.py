"""The kernel's name and version and the machine's name, from uname(2)."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, info
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    UNAME := info(
        "node_uname_info",
        "The machine's name and its kernel.",
        "sysname",
        "release",
        "version",
        "machine",
        "nodename",
        "domainname",
    ),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield one series; the NIS domain is in a file, as Python's uname leaves it out."""
    sysname, nodename, release, version, machine = host.calls.uname()
    domainname = host.proc.read_text("sys/kernel/domainname") or ""
    yield UNAME, (sysname, release, version, machine, nodename, domainname), 1


SOURCE = Source("uname", METRICS, read, every=60)
