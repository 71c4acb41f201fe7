"""A character for each GPU, by a measure that the reader chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from string import ascii_uppercase
from typing import NamedTuple

from vigie.views.terminal.styled_text import TextSpan
from vigie.views.text.sparkline import bar
from vigie.views.text.style import CRITICAL, DIM, PLAIN, WARNING
from vigie.views.text.units import format_quantity
from vigie.wire.api.rows import ClusterNode, GpuCell, Holder, JobRow

ABSENT, FREE, LOST, OTHER, SLICED = "░", "·", "X", "+", "#"
MARKS = {"ok": FREE, "warning": "!", "critical": "X", "lost": "X"}
STYLES = {"warning": WARNING, "critical": CRITICAL, "lost": CRITICAL}
COOL, HOT = 30.0, 90.0  # the bounds of the bars of temperature
Draw = Callable[[GpuCell, Mapping[str, str]], str]


class Measure(NamedTuple):
    """What the character of a GPU shows."""

    name: str
    legend: str
    character: Draw


def assign_letters(jobs: Iterable[JobRow], nodes: Iterable[ClusterNode]) -> dict[str, str]:
    """Return a letter for each holder: the jobs in their order, then whoever else holds a GPU."""
    holders = [f"job:{job.id}" for job in jobs if job.gpus]
    holders += [_key(cell.holder) for node in nodes for cell in node.cells if cell.holder]
    letters = dict.fromkeys(holders)
    return {
        holder: ascii_uppercase[n] if n < len(ascii_uppercase) else OTHER for n, holder in enumerate(letters)
    }


def _key(holder: Holder) -> str:
    return f"{holder.kind}:{holder.id}"


def format_holder(cell: GpuCell) -> str:
    """Return who holds a GPU; that it is a job goes without saying."""
    holder = cell.holder
    if holder is None:
        return ""
    kind = "" if holder.kind == "job" else holder.kind
    return " ".join(filter(None, (kind, holder.name or holder.id, holder.user)))


def draw_gpu(cell: GpuCell, measure: Measure, letters: Mapping[str, str]) -> TextSpan:
    """Return the GPU's character; a colour means trouble."""
    character = LOST if cell.health == "lost" else measure.character(cell, letters)
    neutral = DIM if character in (FREE, ABSENT) else PLAIN
    return TextSpan(character, STYLES.get(cell.health, neutral))


def _draw_holder(cell: GpuCell, letters: Mapping[str, str]) -> str:
    if cell.holder is None:
        return SLICED if cell.mig else FREE
    letter = letters.get(_key(cell.holder), OTHER)
    return letter.lower() if cell.working is False else letter


def _draw_bar(value_of: Callable[[GpuCell], float | None], low: float = 0.0, high: float = 1.0) -> Draw:
    def draw(cell: GpuCell, _: Mapping[str, str]) -> str:
        value = value_of(cell)
        return ABSENT if value is None else bar(value, low, high)

    return draw


def _power_share(cell: GpuCell) -> float | None:
    return None if cell.power is None or not cell.power_limit else cell.power / cell.power_limit


def _draw_health(cell: GpuCell, _: Mapping[str, str]) -> str:
    return MARKS[cell.health]


_BARS = f"▁ low to █ high, {ABSENT} not known"
MEASURES = (
    Measure("holder", f"A job's letter, small: idle, {FREE} free, {SLICED} split, {LOST} lost", _draw_holder),
    Measure("busy", f"{_BARS}, of the time", _draw_bar(lambda cell: cell.busy)),
    Measure("SM", f"{_BARS}, of the SMs' time", _draw_bar(lambda cell: cell.sm)),
    Measure("memory", f"{_BARS}, of what it has", _draw_bar(lambda cell: cell.memory)),
    Measure("power", f"{_BARS}, of its limit", _draw_bar(_power_share)),
    Measure(
        "temperature",
        f"▁ {format_quantity(COOL, 'celsius')} to █ {format_quantity(HOT, 'celsius')}, {ABSENT} not known",
        _draw_bar(lambda cell: cell.temperature, COOL, HOT),
    ),
    Measure("health", f"{FREE} well, ! a warning, X critical or lost, {ABSENT} not known", _draw_health),
)
