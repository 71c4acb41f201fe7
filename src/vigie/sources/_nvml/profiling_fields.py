"""Profiling counters of NVIDIA GPUs: DCGM field and GPM metric of each."""

from __future__ import annotations

import os
from typing import NamedTuple

from vigie.model import Metric, gauge
from vigie.sources._number_lists import parse_number_list
from vigie.sources._nvml.gpu import DCGM

SHARE, RATE = 1 / 100, 1 << 20  # GPM reports percent and MiB/s, DCGM ratios and bytes/s
MAX_FILE_BYTES = 1 << 20  # bytes of a field list file


class ProfilingField(NamedTuple):
    """One counter, and the factor from GPM's unit."""

    field: int
    gpm: int
    metric: Metric
    worth: float


def _share(field: int, gpm: int, name: str, what: str) -> ProfilingField:
    meaning = f"Share of time {what}, 0 to 1."
    return ProfilingField(field, gpm, gauge(f"DCGM_FI_PROF_{name}", meaning, *DCGM), SHARE)


def _rate(field: int, gpm: int, name: str, what: str) -> ProfilingField:
    return ProfilingField(field, gpm, gauge(f"DCGM_FI_PROF_{name}", f"Bytes per second {what}.", *DCGM), RATE)


ROWS = (
    _share(1001, 1, "GR_ENGINE_ACTIVE", "the graphics or compute engine was active"),
    _share(1002, 2, "SM_ACTIVE", "an SM had at least one warp, averaged over all SMs"),
    ProfilingField(
        1003,
        3,
        gauge("DCGM_FI_PROF_SM_OCCUPANCY", "Resident warps relative to the maximum, 0 to 1.", *DCGM),
        SHARE,
    ),
    _share(1004, 5, "PIPE_TENSOR_ACTIVE", "the tensor pipe was active"),
    _share(1005, 10, "DRAM_ACTIVE", "the memory interface was active"),
    _share(1006, 11, "PIPE_FP64_ACTIVE", "the FP64 pipe was active"),
    _share(1007, 12, "PIPE_FP32_ACTIVE", "the FP32 pipe was active"),
    _share(1008, 13, "PIPE_FP16_ACTIVE", "the FP16 pipe was active"),
    _rate(1009, 20, "PCIE_TX_BYTES", "sent over PCIe, including headers"),
    _rate(1010, 21, "PCIE_RX_BYTES", "received over PCIe, including headers"),
    _rate(1011, 61, "NVLINK_TX_BYTES", "sent over NVLink"),
    _rate(1012, 60, "NVLINK_RX_BYTES", "received over NVLink"),
    _share(1013, 9, "PIPE_TENSOR_IMMA_ACTIVE", "the tensor pipe processed integers"),
    _share(1014, 7, "PIPE_TENSOR_HMMA_ACTIVE", "the tensor pipe processed FP16"),
    _share(1015, 6, "PIPE_TENSOR_DFMA_ACTIVE", "the tensor pipe processed FP64"),
    _share(1016, 4, "PIPE_INT_ACTIVE", "the integer pipe was active"),
)
PIPE = "DCGM_FI_PROF_PIPE_"


def select_fields(fields: str, *, pipes: bool) -> tuple[ProfilingField, ...]:
    """Return the rows named by a list of DCGM fields, or all. Raise ValueError if it names none.

    The list has ids, id ranges and names, or is the path of a dcgm-exporter file. It may contain fields
    that are not profiling counters: other sources provide them.

    >>> [row.field for row in select_fields("50,100,1001-1003,DCGM_FI_PROF_DRAM_ACTIVE", pipes=True)]
    [1001, 1002, 1003, 1005]
    """
    words = _read_names(fields)
    rows = [row for row in ROWS if not words or words & {str(row.field), row.metric.name}]
    if not rows:
        raise ValueError("use profiling counters such as 1001-1012 or DCGM_FI_PROF_SM_ACTIVE")
    return tuple(row for row in rows if pipes or not row.metric.name.startswith(PIPE))


def check_fields(fields: str) -> None:
    """Raise ValueError for a list without profiling counters."""
    select_fields(fields, pipes=True)


def _read_names(fields: str) -> set[str]:
    if os.path.isabs(fields):
        return _parse_list(fields)
    words = {word.strip() for word in fields.split(",") if word.strip()}
    return words | {str(number) for word in words if "-" in word for number in parse_number_list(word)}


def _parse_list(path: str) -> set[str]:
    """Return the first column of a counter file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(MAX_FILE_BYTES).splitlines()
    except OSError as error:
        raise ValueError(f"cannot be read: {error}") from None
    names = (line.partition(",")[0].strip() for line in lines)
    return {name for name in names if name and not name.startswith("#")}
