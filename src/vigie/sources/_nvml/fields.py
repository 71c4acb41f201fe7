"""Field values: many numbers of a GPU in one call, each with its own status."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ctypes import c_int
from typing import NamedTuple

from vigie.model import Metric
from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import PERMANENT_ERRORS, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.samples import FixedSeries, Value, build_fixed_series

MAX_CELSIUS = 200  # above it, some drivers mean "not available"
MEMORY_HEAT = 82
UNSIGNED = 1

# A FieldValue in memory, its value as an integer: much faster than ctypes attributes.
PLACE = struct.Struct("=IIqqIIQ")
WHOLE = struct.Struct("=Q")
# How to read a value by type. Others are read as integers, as unsigned long is on Linux.
OTHERS = {0: "=d", 1: "=I", 4: "=q", 5: "=i", 6: "=H"}


class FieldRow(NamedTuple):
    metric: Metric
    field: int


Key = tuple[int, int]  # field, scope: a link, or 0


class FieldValues(NamedTuple):
    """The value of each wanted field, and the driver's timestamps in microseconds."""

    values: list[Value]
    times: list[int]


class _FieldLayout:
    """Fields in the driver's memory layout, without unsupported ones."""

    def __init__(self, gpu: NvmlGpu, wanted: Sequence[Key]) -> None:
        missing: dict[Key, str] = gpu.cache.setdefault("missing fields", {})
        self.reasons: list[Value] = [missing.get(key, "") for key in wanted]
        self.places = [place for place, key in enumerate(wanted) if key not in missing]
        self.array = (abi.NvmlFieldValue * len(self.places))()
        for cell, place in zip(self.array, self.places):
            cell.fieldId, cell.scopeId = wanted[place]


def read_fields(gpu: NvmlGpu, name: str, wanted: Sequence[Key]) -> FieldValues:
    """Read fields and scopes. Unsupported ones are not requested again."""
    prepared: _FieldLayout | None = gpu.cache.get(f"fields {name}")
    if prepared is None or len(prepared.reasons) != len(wanted):
        prepared = gpu.cache[f"fields {name}"] = _FieldLayout(gpu, wanted)
    values, times = prepared.reasons.copy(), [0] * len(wanted)
    if not prepared.places:
        return FieldValues(values, times)
    gpu.call("nvmlDeviceGetFieldValues", c_int(len(prepared.places)), prepared.array)
    cells = PLACE.iter_unpack(prepared.array)
    for place, (field, _, time, _, kind, code, raw) in zip(prepared.places, cells):
        values[place], times[place] = read_value(field, kind, code, raw), time
        if code in PERMANENT_ERRORS:
            gpu.cache["missing fields"][wanted[place]] = values[place]
            gpu.cache.pop(f"fields {name}", None)  # rebuilt without this field
    return FieldValues(values, times)


def build_fixed_fields(name: str, rows: Sequence[FieldRow]) -> FixedSeries:
    wanted = [(row.field, 0) for row in rows]
    return build_fixed_series(
        lambda gpu: read_fields(gpu, name, wanted).values, *(row.metric for row in rows)
    )


def read_value(field: int, kind: int, code: int, raw: int) -> Value:
    """Return the value of a field. Unknown types are read as integers."""
    if code:
        return str(NvmlError(f"nvmlDeviceGetFieldValues of {field}", code))
    if field == MEMORY_HEAT:  # some drivers (545) declare a wrong type
        kind = UNSIGNED
    if kind not in OTHERS:
        return raw
    number: float = struct.unpack_from(OTHERS[kind], WHOLE.pack(raw))[0]
    return number
