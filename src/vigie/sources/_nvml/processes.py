"""The processes that compute on a GPU, from the newest call that the driver knows."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint, c_ulonglong
from typing import Any

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import PERMANENT_ERRORS, NvmlGpu
from vigie.sources._nvml.library import NvmlError

MAX_PROCESSES = 128  # per GPU
LIST = "nvmlDeviceGetComputeRunningProcesses"
# From new to old; the second and third version share their structure.
CALLS: tuple[tuple[str, Any], ...] = (
    (f"{LIST}_v3", abi.Process2),
    (f"{LIST}_v2", abi.Process2),
    (LIST, abi.Process1),
)


def list_processes(gpu: NvmlGpu) -> tuple[int, list[Any]]:
    """Return how many processes there are, and as many of them as are told."""
    for function, kind in CALLS:
        count, array = c_uint(MAX_PROCESSES), (kind * MAX_PROCESSES)()
        gpu.library.yield_driver()  # it keeps the driver for milliseconds
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


def list_use(gpu: NvmlGpu) -> list[Any]:
    """Return the samples of what processes had of the GPU since the last call."""
    count, array = c_uint(MAX_PROCESSES), (abi.ProcessUse * MAX_PROCESSES)()
    since = c_ulonglong(gpu.cache.get("process_use", 0))
    gpu.library.yield_driver()
    try:
        gpu.call("nvmlDeviceGetProcessUtilization", ctypes.cast(array, ctypes.c_void_p), byref(count), since)
    except NvmlError as error:
        if error.code == abi.NOT_FOUND:  # nobody did anything
            return []
        raise
    found = list(array[: count.value])
    gpu.cache["process_use"] = max((use.timeStamp for use in found), default=since.value)
    return found
