"""Two samples of the driver's own profiling counters (GPM), and what was between them."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence
from ctypes import byref, c_uint
from typing import Optional

from vigie.sources._nvml import abi
from vigie.sources._nvml.asking import Found
from vigie.sources._nvml.gpu import Gpu, Part
from vigie.sources._nvml.library import NvmlError
from vigie.sources._profiling import Row

CLOSEST = 0.1  # seconds: two samples that are closer say nothing


class Pair:
    """Two samples of one GPU or instance, of which the older is taken anew."""

    def __init__(self, gpu: Gpu, part: Part | None, rows: Sequence[Row]) -> None:
        self.part = part
        self._gpu, self._rows = gpu, rows
        self._wanted = abi.GpmMetricsGet(version=1, numMetrics=len(rows))
        for place, row in zip(self._wanted.metrics, rows):
            place.metricId = row.gpm
        self._samples = self._allocated(), self._allocated()
        self._taken: Optional[float] = None  # noqa: UP045 - evaluated on Python 3.9
        self._values: list[Found] = []

    def read(self) -> list[Found]:
        """Take a sample, and return what was between it and the one before."""
        now = time.monotonic()
        if self._taken is not None and now - self._taken < CLOSEST:
            return self._values
        first = self._taken is None
        self._samples = self._samples[1], self._samples[0]
        self._take(self._samples[1])
        self._taken = now
        if first:
            why = "it needs two readings"
            self._values = [Found(row.metric, None, part=self.part, why=why) for row in self._rows]
        else:
            self._wanted.sample1, self._wanted.sample2 = self._samples
            self._gpu.library.call("nvmlGpmMetricsGet", byref(self._wanted))
            self._values = [self._found(*both) for both in zip(self._wanted.metrics, self._rows)]
        return self._values

    def free(self) -> None:
        """Give the samples back."""
        for sample in self._samples:
            self._gpu.library.call("nvmlGpmSampleFree", sample)

    def _take(self, sample: ctypes.c_void_p) -> None:
        if self.part is None:
            self._gpu.ask("nvmlGpmSampleGet", sample)
        else:
            self._gpu.ask("nvmlGpmMigSampleGet", c_uint(self.part.instance), sample)

    def _allocated(self) -> ctypes.c_void_p:
        sample = ctypes.c_void_p()
        self._gpu.library.call("nvmlGpmSampleAlloc", byref(sample))
        return sample

    def _found(self, place: abi.GpmMetric, row: Row) -> Found:
        if place.nvmlReturn:
            why = str(NvmlError("nvmlGpmMetricsGet", place.nvmlReturn))
            return Found(row.metric, None, part=self.part, why=why)
        if not math.isfinite(place.value):
            return Found(row.metric, None, part=self.part, why="the driver gave no number")
        return Found(row.metric, place.value * row.worth, part=self.part)
