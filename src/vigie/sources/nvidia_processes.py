"""Compute processes on NVIDIA GPUs and their memory, through NVML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vigie.model import Sample
from vigie.sources import _gpu
from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import NvmlGpu
from vigie.sources._nvml.processes import MAX_PROCESSES, list_processes, list_use
from vigie.sources._nvml.samples import GpuReader, GpuReading, read_samples
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

LISTED = (_gpu.PROCESSES, _gpu.PROCESS_MEMORY)
METRICS = (*LISTED, _gpu.PROCESS_BUSY)


def read(host: Host) -> list[Sample]:
    """Return the processes of every GPU."""
    readers = GpuReader(LISTED, _read_processes), GpuReader((_gpu.PROCESS_BUSY,), _read_shares)
    return read_samples(host, readers)


def _read_processes(gpu: NvmlGpu) -> Iterator[GpuReading]:
    there, listed = list_processes(gpu)
    yield GpuReading(_gpu.PROCESSES, there)
    if there > len(listed):
        yield GpuReading(_gpu.PROCESS_MEMORY, None, why=f"more than {MAX_PROCESSES} processes")
    for each in listed:
        instance = getattr(each, "gpuInstanceId", abi.NO_INSTANCE)
        labels = str(each.pid), "" if instance == abi.NO_INSTANCE else str(instance)
        used = each.usedGpuMemory
        why = "not reported by the driver"
        yield GpuReading(_gpu.PROCESS_MEMORY, None if used == abi.NOT_AVAILABLE else used, labels, why=why)


def _read_shares(gpu: NvmlGpu) -> Iterator[GpuReading]:
    """Yield each process's newest share; one that did nothing since the last read has none."""
    newest: dict[int, Any] = {}
    for use in list_use(gpu):
        if use.pid not in newest or use.timeStamp > newest[use.pid].timeStamp:
            newest[use.pid] = use
    for pid, use in newest.items():
        if use.smUtil <= 100:
            yield GpuReading(_gpu.PROCESS_BUSY, use.smUtil / 100, (str(pid),))


SOURCE = Source("nvidia_processes", METRICS, read, slow=True, every=30)
