"""Load averages, from /proc/loadavg."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import parse_number

METRICS = (
    gauge("node_load1", "Tasks running or waiting, averaged over one minute."),
    gauge("node_load5", "Tasks running or waiting, averaged over five minutes."),
    gauge("node_load15", "Tasks running or waiting, averaged over fifteen minutes."),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the three averages."""
    for metric, text in zip(METRICS, host.proc.read("loadavg").split()):
        yield metric, (), parse_number(text)


SOURCE = Source("loadavg", METRICS, read)
