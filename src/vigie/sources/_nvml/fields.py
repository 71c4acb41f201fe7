"""Field values: many numbers of a GPU in one call, each of which may be refused by itself."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_int
from typing import NamedTuple

from vigie.model import Metric
from vigie.sources._nvml import abi
from vigie.sources._nvml.asking import Found
from vigie.sources._nvml.gpu import FOR_GOOD, Gpu
from vigie.sources._nvml.library import NvmlError

TOO_HOT = 200  # above it is no temperature but a marker of some drivers


class FieldRow(NamedTuple):
    """Which field a metric is, and what one of its units is worth."""

    metric: Metric
    field: int
    scale: float = 1
    scope: int = 0
    extra: tuple[str, ...] = ()


Key = tuple[int, int]  # a field, and its scope: a link, or 0


class Answer(NamedTuple):
    """A field's number and the driver's time of it in microseconds; or why there is none."""

    number: float
    time: int
    why: str = ""


class _Prepared:
    """A set of fields laid out for the driver, without those that it was found not to support."""

    def __init__(self, gpu: Gpu, wanted: Sequence[Key]) -> None:
        missing = gpu.memory.setdefault("missing fields", {})
        self.missing: dict[Key, Answer] = {key: missing[key] for key in wanted if key in missing}
        self.keys = [key for key in wanted if key not in missing]
        self.array = (abi.FieldValue * len(self.keys))()
        for place, (field, scope) in zip(self.array, self.keys):
            place.fieldId, place.scopeId = field, scope


def ask(gpu: Gpu, name: str, wanted: Sequence[Key]) -> dict[Key, Answer]:
    """Return the answers for fields and scopes; those found not to be supported are not asked again."""
    prepared: _Prepared | None = gpu.memory.get(f"fields {name}")
    if prepared is None:
        prepared = gpu.memory[f"fields {name}"] = _Prepared(gpu, wanted)
    answers = dict(prepared.missing)
    if not prepared.keys:
        return answers
    gpu.ask("nvmlDeviceGetFieldValues", c_int(len(prepared.keys)), prepared.array)
    for place, key in zip(prepared.array, prepared.keys):
        answers[key] = read_answer(key[0], place)
        if place.nvmlReturn in FOR_GOOD:
            gpu.memory["missing fields"][key] = answers[key]
            gpu.memory.pop(f"fields {name}", None)  # it is laid out anew, without this one
    return answers


def read(gpu: Gpu, name: str, rows: Sequence[FieldRow]) -> list[Found]:
    """Return the metric of each row."""
    answers = ask(gpu, name, [(row.field, row.scope) for row in rows])
    found = []
    for row in rows:
        number, _, why = answers[row.field, row.scope]
        found.append(Found(row.metric, None if why else number * row.scale, row.extra, why=why))
    return found


def read_answer(field: int, place: abi.FieldValue) -> Answer:
    """Return what the driver wrote for a field; a number of a type that nobody knows is taken as whole."""
    if place.nvmlReturn:
        return Answer(0, 0, str(NvmlError(f"nvmlDeviceGetFieldValues of {field}", place.nvmlReturn)))
    kind = place.valueType
    number = getattr(place.value, abi.MEMBERS[kind] if kind < len(abi.MEMBERS) else "ullVal")
    return Answer(number, place.timestamp)
