"""Which processes hold memory of which GPUs, as the drivers told last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from vigie.agent.source_reader import SourceReader

PROCESS_MEMORY = "vigie_gpu_process_memory_bytes"

GpuMemory = Mapping[str, Mapping[str, float]]  # bytes by GPU, by pid


def gpu_memory_of_processes(readings: Sequence[SourceReader]) -> GpuMemory:
    """Return how much memory of which GPU each process holds."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for reading in readings:
        if any(metric.name == PROCESS_MEMORY for metric in reading.source.metrics):
            table, numbers, _ = reading.values
            for (metric, labels), held in zip(table.series, numbers, strict=True):
                if metric.name == PROCESS_MEMORY:
                    named = dict(zip(metric.labels, labels, strict=True))
                    own = found[named["pid"]]
                    own[named["gpu"]] = own.get(named["gpu"], 0.0) + held
    return found
