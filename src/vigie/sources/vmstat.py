"""Paging, swapping, page faults and OOM kills, from /proc/vmstat."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, untyped
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    untyped("node_vmstat_oom_kill", "OOM kills since boot."),
    untyped("node_vmstat_pgfault", "Page faults since boot."),
    untyped("node_vmstat_pgmajfault", "Major page faults since boot."),
    untyped("node_vmstat_pgpgin", "KiB read from block devices since boot."),
    untyped("node_vmstat_pgpgout", "KiB written to block devices since boot."),
    untyped("node_vmstat_pswpin", "Pages swapped in since boot."),
    untyped("node_vmstat_pswpout", "Pages swapped out since boot."),
)

# Seven of 180 fields are wanted: searching is faster than splitting.
WANTED = [("\n" + metric.name[len("node_vmstat_") :] + " ", metric) for metric in METRICS]


def read(host: Host) -> Iterator[Sample]:
    """Yield the fields about memory shortage."""
    text = "\n" + host.proc.read("vmstat") + "\n"
    for name, metric in WANTED:
        start = text.find(name)
        if start < 0:
            continue
        start += len(name)
        try:
            yield metric, (), int(text[start : text.index("\n", start)])
        except ValueError as error:
            host.note(f"/proc/vmstat {name.strip()}", error)


SOURCE = Source("vmstat", METRICS, read)
