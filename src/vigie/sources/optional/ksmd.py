"""Memory that the kernel shares between equal pages (KSM), from /sys/kernel/mm/ksm."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources._attributes import read_count
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    SCANS := counter("node_ksmd_full_scans_total", "Times that all candidates were looked at."),
    ACROSS := gauge("node_ksmd_merge_across_nodes", "1 if pages of different NUMA nodes are shared."),
    SHARED := gauge("node_ksmd_pages_shared", "Pages that stand for several equal ones."),
    SHARING := gauge("node_ksmd_pages_sharing", "Pages that were saved."),
    TO_SCAN := gauge("node_ksmd_pages_to_scan", "Pages looked at before it sleeps."),
    UNSHARED := gauge("node_ksmd_pages_unshared", "Pages without an equal that are looked at again."),
    VOLATILE := gauge("node_ksmd_pages_volatile", "Pages that change too fast to be shared."),
    RUN := gauge("node_ksmd_run", "1 while it runs, 2 when everything was split up again."),
    SLEEP := gauge("node_ksmd_sleep_seconds", "Sleep between two rounds."),
)

TOP = "kernel/mm/ksm"
FILES = (
    ("full_scans", SCANS),
    ("merge_across_nodes", ACROSS),
    ("pages_shared", SHARED),
    ("pages_sharing", SHARING),
    ("pages_to_scan", TO_SCAN),
    ("pages_unshared", UNSHARED),
    ("pages_volatile", VOLATILE),
    ("run", RUN),
    ("sleep_millisecs", SLEEP),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield every figure."""
    if not host.sys.exists(TOP):
        raise Unavailable("this kernel has no KSM support")
    for file, metric in FILES:
        value = read_count(host, f"{TOP}/{file}")
        yield metric, (), value / 1000 if metric is SLEEP and value is not None else value


SOURCE = Source("ksmd", METRICS, read, default=False)
