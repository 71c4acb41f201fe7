"""Paging, swapping, page faults and out-of-memory kills, from /proc/vmstat."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, untyped
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    untyped("node_vmstat_oom_kill", "Processes killed since boot because memory ran out."),
    untyped("node_vmstat_pgfault", "Page faults since boot, whether or not they needed storage."),
    untyped("node_vmstat_pgmajfault", "Page faults since boot that had to wait for storage."),
    untyped("node_vmstat_pgpgin", "Kibibytes read from block devices since boot."),
    untyped("node_vmstat_pgpgout", "Kibibytes written to block devices since boot."),
    untyped("node_vmstat_pswpin", "Pages brought back from swap since boot."),
    untyped("node_vmstat_pswpout", "Pages moved out to swap since boot."),
)

# A file of 180 fields of which seven are wanted: finding these is quicker than splitting it.
WANTED = [("\n" + metric.name[len("node_vmstat_") :] + " ", metric) for metric in METRICS]


def read(host: Host) -> Iterator[Sample]:
    """Yield the few fields that tell whether memory is short."""
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
