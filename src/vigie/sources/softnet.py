"""How each core keeps up with arriving packets, from /proc/net/softnet_stat."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import repeat

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    PROCESSED := counter(
        "node_softnet_processed_total", "Packets that the core took from its backlog.", "cpu"
    ),
    DROPPED := counter(
        "node_softnet_dropped_total", "Packets dropped because the core's backlog was full.", "cpu"
    ),
    SQUEEZED := counter(
        "node_softnet_times_squeezed_total", "Times the core stopped with packets left to process.", "cpu"
    ),
    COLLISIONS := counter(
        "node_softnet_cpu_collision_total", "Times the core found a device's transmit lock taken.", "cpu"
    ),
    STEERED := counter(
        "node_softnet_received_rps_total", "Times another core handed packets to this one.", "cpu"
    ),
    LIMITED := counter(
        "node_softnet_flow_limit_count_total", "Times one flow was held back to keep room for others.", "cpu"
    ),
    BACKLOG := gauge("node_softnet_backlog_len", "Packets in the core's backlog now.", "cpu"),
)

# The least columns that a kernel has ever had; the fourth to eighth are unused.
NARROWEST = 9


def read(host: Host) -> Iterator[Sample]:
    """Yield the columns that this kernel has; cores are numbered by their line."""
    lines = host.proc.read("net/softnet_stat").splitlines()
    cores: list[tuple[str]] = host.cache.get("cores", [])
    if len(cores) != len(lines):
        cores = host.cache["cores"] = [(str(i),) for i in range(len(lines))]
    for cpu, line in zip(cores, lines):
        try:
            # Taking the columns as bytes is half again as quick as an int() for each.
            row = bytes.fromhex(line)
            columns = struct.unpack(f">{len(row) // 4}I", row)
        except (ValueError, struct.error):
            columns = ()
        if len(columns) < NARROWEST:
            host.note(f"/proc/net/softnet_stat line {cpu[0]}", "not columns of eight hexadecimal digits")
            continue
        yield from zip(METRICS, repeat(cpu), columns[:3] + columns[8:12])


SOURCE = Source("softnet", METRICS, read)
