"""Tasks that the kernel found hanging, from /proc/sys/kernel/hung_task_detect_count."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import parse_number

METRICS = (
    HUNG := counter("node_kernel_hung_tasks_total", "Tasks found stuck in uninterruptible sleep since boot."),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the count of the watchdog for hanging tasks."""
    try:
        yield HUNG, (), parse_number(host.proc.read("sys/kernel/hung_task_detect_count"))
    except FileNotFoundError as error:
        raise Unavailable("this kernel does not count hung tasks (Linux 6.13 and later do)") from error


SOURCE = Source("kernel_hung", METRICS, read)
