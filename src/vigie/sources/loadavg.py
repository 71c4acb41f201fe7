"""Load averages, from /proc/loadavg."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import parse_number

METRICS = (
    gauge("node_load1", "Load average over 1 minute."),
    gauge("node_load5", "Load average over 5 minutes."),
    gauge("node_load15", "Load average over 15 minutes."),
)


def read(host: Host) -> Iterator[Sample]:
    for metric, text in zip(METRICS, host.proc.read("loadavg").split()):
        yield metric, (), parse_number(text)


SOURCE = Source("loadavg", METRICS, read)
