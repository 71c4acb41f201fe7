"""Pressure stall information (PSI), from /proc/pressure."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    CPU_SOME := counter(
        "node_pressure_cpu_waiting_seconds_total", "Seconds in which some tasks waited for CPU."
    ),
    IO_SOME := counter(
        "node_pressure_io_waiting_seconds_total", "Seconds in which some tasks waited for I/O."
    ),
    IO_FULL := counter(
        "node_pressure_io_stalled_seconds_total", "Seconds in which all tasks waited for I/O."
    ),
    MEMORY_SOME := counter(
        "node_pressure_memory_waiting_seconds_total", "Seconds in which some tasks waited for memory."
    ),
    MEMORY_FULL := counter(
        "node_pressure_memory_stalled_seconds_total", "Seconds in which all tasks waited for memory."
    ),
    IRQ_FULL := counter(
        "node_pressure_irq_stalled_seconds_total", "Seconds in which interrupts stalled all tasks."
    ),
)

RESOURCES = (
    ("cpu", {"some": CPU_SOME}),
    ("io", {"some": IO_SOME, "full": IO_FULL}),
    ("memory", {"some": MEMORY_SOME, "full": MEMORY_FULL}),
    ("irq", {"full": IRQ_FULL}),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the totals, without the kernel's averages."""
    if "resources" not in host.cache:  # constant since boot
        host.cache["resources"] = [r for r in RESOURCES if host.proc.exists("pressure/" + r[0])]
    if not host.cache["resources"]:
        raise Unavailable("the kernel has no pressure stall information (CONFIG_PSI)")
    for resource, wanted in host.cache["resources"]:
        path = "pressure/" + resource
        try:
            lines = host.proc.read(path).splitlines()
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                raise Unavailable("pressure stall information is disabled (psi=0)") from error
            host.proc.note_error(path, error)
            continue
        for line in lines:
            kind, _, rest = line.partition(" ")
            if kind in wanted:
                try:
                    yield wanted[kind], (), int(rest.rpartition("total=")[2]) / 1e6
                except (ValueError, OverflowError) as error:
                    host.note(f"/proc/{path} {kind}", error)


SOURCE = Source("pressure", METRICS, read)
