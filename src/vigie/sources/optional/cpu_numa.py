"""CPU time by NUMA node, and which node each core belongs to, from /proc/stat and sysfs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, info
from vigie.sources._attributes import parse_counters, should_search
from vigie.sources._number_lists import parse_number_list
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.cpu import MODES

METRICS = (
    SECONDS := counter(
        "vigie_numa_cpu_seconds_total", "Seconds the cores of a NUMA node spent in each mode.", "node", "mode"
    ),
    INFO := info("vigie_cpu_numa_info", "The NUMA node that a core belongs to.", "cpu", "node"),
)

NODES = "devices/system/node/"


def read(host: Host) -> Iterator[Sample]:
    """Yield each node's time by mode, then each core's node."""
    if should_search(host):
        host.cache["nodes"] = _nodes(host)
    nodes: dict[str, str] = host.cache["nodes"]
    if not nodes:
        raise Unavailable("this kernel has no NUMA support")
    sums: dict[str, list[int]] = {}
    for line in host.proc.read("stat").splitlines()[1:]:
        if not line.startswith("cpu"):
            break
        name, *words = line.split()
        node = nodes.get(name[3:])
        try:
            ticks = parse_counters(words[: len(MODES)])
        except ValueError as error:
            host.note(f"/proc/stat {name}", error)
            ticks = []
        if node is not None:
            kept = sums.setdefault(node, [0] * len(MODES))
            # A sum that leaves a core out would look as if the counter had been reset.
            sums[node] = [a + b for a, b in zip(kept, ticks)] if kept else kept
    for node, total in sums.items():
        for mode, ticks_of_mode in zip(MODES, total):
            yield SECONDS, (node, mode), ticks_of_mode / host.calls.ticks
    yield from ((INFO, (cpu, node), 1) for cpu, node in nodes.items())


def _nodes(host: Host) -> dict[str, str]:
    """Return the node of each core."""
    online = host.sys.read_text(NODES + "online") or ""
    return {
        str(cpu): str(node)
        for node in parse_number_list(online)
        for cpu in parse_number_list(host.sys.read_text(f"{NODES}node{node}/cpulist") or "")
    }


SOURCE = Source("cpu_numa", METRICS, read, default=False)
