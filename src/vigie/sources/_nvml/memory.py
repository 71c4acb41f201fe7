"""The memory of a GPU or of a MIG instance, from the newest call that the driver knows."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import NamedTuple, Optional

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import FOR_GOOD, NvmlGpu
from vigie.sources._nvml.library import NvmlError

VERSION = abi.version_of(abi.Memory2, 2)
NEW = "nvmlDeviceGetMemoryInfo_v2"


class MemoryAmounts(NamedTuple):
    """Bytes; what the driver keeps for itself is not told by old ones."""

    total: int
    free: int
    used: int
    reserved: Optional[int]  # noqa: UP045 - evaluated on Python 3.9


def memory_of(gpu: NvmlGpu, handle: ctypes.c_void_p) -> MemoryAmounts:
    """Return how much there is, and how much of it is taken."""
    if NEW not in gpu.missing:
        answer = abi.Memory2(version=VERSION)
        try:
            gpu.library.call(NEW, handle, byref(answer))
        except NvmlError as error:
            if error.code not in FOR_GOOD:
                raise
            gpu.missing[NEW] = str(error)
        else:
            return MemoryAmounts(answer.total, answer.free, answer.used, answer.reserved)
    old = abi.NvmlMemory()
    gpu.library.call("nvmlDeviceGetMemoryInfo", handle, byref(old))
    return MemoryAmounts(old.total, old.free, old.used, None)
