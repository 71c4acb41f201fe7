"""Processing of received packets by CPU, from /proc/net/softnet_stat."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import repeat

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    PROCESSED := counter("node_softnet_processed_total", "Packets processed.", "cpu"),
    DROPPED := counter("node_softnet_dropped_total", "Packets dropped because the backlog was full.", "cpu"),
    SQUEEZED := counter(
        "node_softnet_times_squeezed_total", "Times processing stopped with packets left.", "cpu"
    ),
    COLLISIONS := counter("node_softnet_cpu_collision_total", "Times a transmit lock was contended.", "cpu"),
    STEERED := counter("node_softnet_received_rps_total", "Times another CPU handed packets over.", "cpu"),
    LIMITED := counter("node_softnet_flow_limit_count_total", "Times the flow limit was reached.", "cpu"),
    BACKLOG := gauge("node_softnet_backlog_len", "Packets in the backlog.", "cpu"),
)

# Minimum number of columns of any kernel; the fourth to eighth are unused.
MIN_COLUMNS = 9


def read(host: Host) -> Iterator[Sample]:
    """Yield the columns that the kernel has. CPUs are numbered by line."""
    lines = host.proc.read("net/softnet_stat").splitlines()
    cores: list[tuple[str]] = host.cache.get("cores", [])
    if len(cores) != len(lines):
        cores = host.cache["cores"] = [(str(i),) for i in range(len(lines))]
    for cpu, line in zip(cores, lines):
        try:
            # Decoding the columns as bytes is 1.5 times as fast as int() for each.
            row = bytes.fromhex(line)
            columns = struct.unpack(f">{len(row) // 4}I", row)
        except (ValueError, struct.error):
            columns = ()
        if len(columns) < MIN_COLUMNS:
            host.note(f"/proc/net/softnet_stat line {cpu[0]}", "expected columns of eight hex digits")
            continue
        yield from zip(METRICS, repeat(cpu), columns[:3] + columns[8:12])


SOURCE = Source("softnet", METRICS, read)
