"""Hung tasks, from /proc/sys/kernel/hung_task_detect_count."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import parse_number

METRICS = (
    HUNG := counter(
        "node_kernel_hung_tasks_total", "Tasks detected in uninterruptible sleep for too long since boot."
    ),
)


def read(host: Host) -> Iterator[Sample]:
    try:
        yield HUNG, (), parse_number(host.proc.read("sys/kernel/hung_task_detect_count"))
    except FileNotFoundError as error:
        raise Unavailable("no hung task counter: requires Linux 6.13 or later") from error


SOURCE = Source("kernel_hung", METRICS, read)
