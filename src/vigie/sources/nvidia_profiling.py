"""Which parts of NVIDIA GPUs are active, from two samples of their counters (NVML GPM: Hopper and newer)."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Iterator
from ctypes import byref, c_uint
from typing import NamedTuple, Optional

from vigie.model import Metric, Sample, gauge
from vigie.sources._host import Host
from vigie.sources._nvml import abi
from vigie.sources._nvml.asking import Found, Reader, samples
from vigie.sources._nvml.gpu import DCGM, FOR_GOOD, Gpu, Part
from vigie.sources._nvml.library import NvmlError
from vigie.sources._source import Source

SHARE, RATE = 1 / 100, 1 << 20  # a percentage as a ratio; MiB/s as bytes/s


class Row(NamedTuple):
    """Which GPM metric a DCGM field is, and what one of its units is worth."""

    number: int
    metric: Metric
    worth: float


def _share(number: int, name: str, what: str) -> Row:
    meaning = f"Share of the time in which {what}, from 0 to 1."
    return Row(number, gauge(f"DCGM_FI_PROF_{name}", meaning, *DCGM), SHARE)


def _rate(number: int, name: str, what: str) -> Row:
    return Row(number, gauge(f"DCGM_FI_PROF_{name}", f"Bytes a second {what}.", *DCGM), RATE)


ROWS = (
    _share(1, "GR_ENGINE_ACTIVE", "the graphics or compute engine was busy"),
    _share(2, "SM_ACTIVE", "a multiprocessor had work, mean over all"),
    Row(
        3,
        gauge("DCGM_FI_PROF_SM_OCCUPANCY", "Resident warps of those that would fit, from 0 to 1.", *DCGM),
        SHARE,
    ),
    _share(5, "PIPE_TENSOR_ACTIVE", "a tensor core was busy"),
    _share(10, "DRAM_ACTIVE", "the memory interface was busy"),
    _share(11, "PIPE_FP64_ACTIVE", "the 64-bit pipe was busy"),
    _share(12, "PIPE_FP32_ACTIVE", "the 32-bit pipe was busy"),
    _share(13, "PIPE_FP16_ACTIVE", "the 16-bit pipe was busy"),
    _rate(20, "PCIE_TX_BYTES", "that left the GPU by PCIe, with headers"),
    _rate(21, "PCIE_RX_BYTES", "that came to the GPU by PCIe, with headers"),
    _rate(61, "NVLINK_TX_BYTES", "that left the GPU by NVLink"),
    _rate(60, "NVLINK_RX_BYTES", "that came to the GPU by NVLink"),
    _share(9, "PIPE_TENSOR_IMMA_ACTIVE", "tensor cores worked on integers"),
    _share(7, "PIPE_TENSOR_HMMA_ACTIVE", "tensor cores worked on 16-bit numbers"),
    _share(6, "PIPE_TENSOR_DFMA_ACTIVE", "tensor cores worked on 64-bit numbers"),
    _share(4, "PIPE_INT_ACTIVE", "the integer pipe was busy"),
)
METRICS = tuple(row.metric for row in ROWS)
CLOSEST = 0.1  # seconds: two samples that are closer say nothing
NEEDS = "profiling counters without DCGM need Hopper or newer"


class Pair:
    """Two samples of one GPU or instance, of which the older is taken anew."""

    def __init__(self, gpu: Gpu, part: Part | None) -> None:
        self.part = part
        self._gpu = gpu
        self._wanted = abi.GpmMetricsGet(version=1, numMetrics=len(ROWS))
        for place, row in zip(self._wanted.metrics, ROWS):
            place.metricId = row.number
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
            self._values = [Found(m, None, part=self.part, why="it needs two readings") for m in METRICS]
        else:
            self._wanted.sample1, self._wanted.sample2 = self._samples
            self._gpu.library.call("nvmlGpmMetricsGet", byref(self._wanted))
            self._values = [self._found(*both) for both in zip(self._wanted.metrics, ROWS)]
        return self._values

    def _take(self, sample: ctypes.c_void_p) -> None:
        if self.part is None:
            self._gpu.ask("nvmlGpmSampleGet", sample)
        else:
            self._gpu.ask("nvmlGpmMigSampleGet", c_uint(self.part.instance), sample)

    def _allocated(self) -> ctypes.c_void_p:
        sample = ctypes.c_void_p()
        self._gpu.library.call("nvmlGpmSampleAlloc", byref(sample))
        return sample

    def free(self) -> None:
        """Give the samples back."""
        for sample in self._samples:
            self._gpu.library.call("nvmlGpmSampleFree", sample)

    def _found(self, place: abi.GpmMetric, row: Row) -> Found:
        if place.nvmlReturn:
            why = str(NvmlError("nvmlGpmMetricsGet", place.nvmlReturn))
            return Found(row.metric, None, part=self.part, why=why)
        if not math.isfinite(place.value):
            return Found(row.metric, None, part=self.part, why="the driver gave no number")
        return Found(row.metric, place.value * row.worth, part=self.part)


def read(host: Host) -> Iterator[Sample]:
    """Yield the profiling counters of every GPU and MIG instance that has them."""
    return samples(host, (Reader(METRICS, _counters),))


def _counters(gpu: Gpu) -> list[Found]:
    wanted: dict[str, Part | None] = {part.uuid: part for part in gpu.parts} or {gpu.uuid: None}
    pairs: dict[str, Pair] = gpu.memory.setdefault("pairs", {})
    found: list[Found] = []
    try:
        for gone in pairs.keys() - wanted.keys():
            pairs.pop(gone).free()
        for uuid, part in wanted.items():
            if uuid not in pairs:
                pairs[uuid] = Pair(gpu, part)
            found.extend(pairs[uuid].read())
    except NvmlError as error:
        if error.code in FOR_GOOD:
            return [Found(metric, None, why=NEEDS) for metric in METRICS]
        raise
    return found


SOURCE = Source("nvidia_profiling", METRICS, read, slow=True)
