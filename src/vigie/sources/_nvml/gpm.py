"""Driver profiling counters (GPM): the difference of two samples."""

from __future__ import annotations

import ctypes
import math
import struct
import time
from collections.abc import Sequence
from ctypes import byref, c_uint
from operator import mul
from typing import Optional

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import PERMANENT_ERRORS, FieldRows, GpuPart, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.profiling_fields import ProfilingField
from vigie.sources._nvml.samples import SampleBlockCache, Value

# A GpmMetric in memory, without its names.
CELL = "Id24x"

MIN_SECONDS = 0.1  # seconds; closer samples are meaningless


class GpmCounters:
    def __init__(self, rows: Sequence[ProfilingField]) -> None:
        self.rows = rows
        self.series = FieldRows((row.metric, ()) for row in rows)
        self.worths = [row.worth for row in rows]


class GpmPair:
    """Two samples of one GPU or instance. The older one is overwritten."""

    def __init__(self, gpu: NvmlGpu, part: GpuPart | None, counters: GpmCounters) -> None:
        self.part = part
        self._gpu, self._counters = gpu, counters
        rows = counters.rows
        self._cells = struct.Struct("=" + f"4x{CELL}" * len(rows))
        self._counter_ids = abi.GpmMetricsGet(version=1, numMetrics=len(rows))
        for place, row in zip(self._counter_ids.metrics, rows):
            place.metricId = row.gpm
        self._samples = self._allocate(), self._allocate()
        self._taken: Optional[float] = None  # noqa: UP045 - evaluated on Python 3.9
        self._values: list[Value] = []

    def read(self) -> SampleBlockCache:
        """Take a sample, and return the values since the previous one."""
        now = time.monotonic()
        if self._taken is not None and now - self._taken < MIN_SECONDS:
            return self._block()
        first = self._taken is None
        self._samples = self._samples[1], self._samples[0]
        self._take(self._samples[1])
        self._taken = now
        if first:
            self._values = ["needs two readings"] * len(self._counters.rows)
        else:
            self._counter_ids.sample1, self._counter_ids.sample2 = self._samples
            self._gpu.library.call("nvmlGpmMetricsGet", byref(self._counter_ids))
            told = self._cells.unpack_from(self._counter_ids, abi.GpmMetricsGet.metrics.offset)
            self._values = self._convert(told[::2], told[1::2])
        return self._block()

    def free(self) -> None:
        for sample in self._samples:
            self._gpu.library.call("nvmlGpmSampleFree", sample)

    def _take(self, sample: ctypes.c_void_p) -> None:
        if self.part is None:
            self._gpu.call("nvmlGpmSampleGet", sample)
        else:
            self._gpu.call("nvmlGpmMigSampleGet", c_uint(self.part.instance), sample)

    def _allocate(self) -> ctypes.c_void_p:
        sample = ctypes.c_void_p()
        self._gpu.library.call("nvmlGpmSampleAlloc", byref(sample))
        return sample

    def _convert(self, codes: Sequence[int], numbers: Sequence[float]) -> list[Value]:
        worths = self._counters.worths
        if any(codes) or not math.isfinite(sum(numbers)):
            return list(map(_convert, codes, numbers, worths))
        return list(map(mul, numbers, worths))

    def _block(self) -> SampleBlockCache:
        return SampleBlockCache(self._counters.series, self._values, self.part)


def can_sample(gpu: NvmlGpu) -> bool:
    """Test for counters by sampling: some drivers that have them fail when queried for support."""
    sample = ctypes.c_void_p()
    try:
        gpu.library.call("nvmlGpmSampleAlloc", byref(sample))
        if gpu.parts:
            gpu.call("nvmlGpmMigSampleGet", c_uint(gpu.parts[0].instance), sample)
        else:
            gpu.call("nvmlGpmSampleGet", sample)
    except NvmlError as error:
        if error.code not in PERMANENT_ERRORS:
            raise
        return False
    finally:
        if sample:
            gpu.library.call("nvmlGpmSampleFree", sample)
    return True


def _convert(code: int, number: float, worth: float) -> Value:
    if code:
        return str(NvmlError("nvmlGpmMetricsGet", code))
    return number * worth if math.isfinite(number) else "the driver returned no number"
