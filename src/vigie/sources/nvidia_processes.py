"""Compute processes on NVIDIA GPUs and their memory, through NVML."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import byref, c_uint
from typing import Any

from vigie.model import Sample
from vigie.sources import _gpu
from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import PERMANENT_ERRORS, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.samples import GpuReader, GpuReading, read_samples
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (_gpu.PROCESSES, _gpu.PROCESS_MEMORY)

MAX_PROCESSES = 128  # per GPU
LIST = "nvmlDeviceGetComputeRunningProcesses"
# New to old. The second and third version share their structure.
CALLS: tuple[tuple[str, Any], ...] = (
    (f"{LIST}_v3", abi.Process2),
    (f"{LIST}_v2", abi.Process2),
    (LIST, abi.Process1),
)


def read(host: Host) -> list[Sample]:
    """Return the processes of every GPU."""
    return read_samples(host, (GpuReader(METRICS, _read_processes),))


def _read_processes(gpu: NvmlGpu) -> Iterator[GpuReading]:
    there, listed = _list_processes(gpu)
    yield GpuReading(_gpu.PROCESSES, there)
    if there > len(listed):
        yield GpuReading(_gpu.PROCESS_MEMORY, None, why=f"more than {MAX_PROCESSES} processes")
    for each in listed:
        instance = getattr(each, "gpuInstanceId", abi.NO_INSTANCE)
        labels = str(each.pid), "" if instance == abi.NO_INSTANCE else str(instance)
        used = each.usedGpuMemory
        why = "not reported by the driver"
        yield GpuReading(_gpu.PROCESS_MEMORY, None if used == abi.NOT_AVAILABLE else used, labels, why=why)


def _list_processes(gpu: NvmlGpu) -> tuple[int, list[Any]]:
    """Return the number of processes, and those listed."""
    for function, kind in CALLS:
        count, array = c_uint(MAX_PROCESSES), (kind * MAX_PROCESSES)()
        gpu.library.yield_driver()  # it holds the driver's lock for milliseconds
        try:
            gpu.call(function, byref(count), ctypes.cast(array, ctypes.c_void_p))
        except NvmlError as error:
            if error.code == abi.INSUFFICIENT_SIZE:
                return count.value, []
            if error.code not in PERMANENT_ERRORS or function == LIST:
                raise
        else:
            return count.value, array[: count.value]
    raise AssertionError("the last call returns or raises")


SOURCE = Source("nvidia_processes", METRICS, read, slow=True, every=30)
