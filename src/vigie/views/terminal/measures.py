"""A character for each GPU, by a measure that the reader chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from string import ascii_uppercase
from typing import NamedTuple

from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.text.sparkline import bar
from vigie.views.text.style import CRITICAL, DIM, PLAIN, WARNING
from vigie.views.text.units import format_quantity

ABSENT, FREE, LOST, OTHER, SLICED = "░", "·", "X", "+", "#"
MARKS = {"ok": FREE, "warning": "!", "critical": "X", "lost": "X"}
STYLES = {"warning": WARNING, "critical": CRITICAL, "lost": CRITICAL}
COOL, HOT = 30.0, 90.0  # the bounds of the bars of temperature


class Measure(NamedTuple):
    """What a GPU's character tells."""

    name: str
    legend: str
    character: Callable[[JsonObject, Mapping[str, str]], str]


def letters(jobs: Iterable[JsonObject], nodes: Iterable[JsonObject]) -> dict[str, str]:
    """Return a letter for each holder: the jobs in their order, then whoever else holds a GPU."""
    holders = [f"job:{job.text('id')}" for job in jobs if job.texts("gpus")]
    for node in nodes:
        holders += [holder_key(cell) for cell in node.parts("cells") if cell.part("holder")]
    known = dict.fromkeys(holders)
    return {
        holder: ascii_uppercase[n] if n < len(ascii_uppercase) else OTHER for n, holder in enumerate(known)
    }


def holder_key(cell: JsonObject) -> str:
    """Return who holds the GPU, as a key."""
    holder = cell.part("holder")
    return f"{holder.text('kind')}:{holder.text('id')}"


def holder(cell: JsonObject) -> str:
    """Return who holds a GPU; that it is a job goes without saying."""
    found = cell.part("holder")
    kind = found.text("kind")
    words = ("" if kind == "job" else kind, found.text("name") or found.text("id"), found.text("user"))
    return " ".join(filter(None, words))


def span(cell: JsonObject, measure: Measure, known: Mapping[str, str]) -> TextSpan:
    """Return the GPU's character; a colour means trouble."""
    lost = cell.text("health") == "lost"
    character = LOST if lost else measure.character(cell, known)
    neutral = DIM if character in (FREE, ABSENT) else PLAIN
    return TextSpan(character, STYLES.get(cell.text("health"), neutral))


def _holder(cell: JsonObject, known: Mapping[str, str]) -> str:
    if not cell.part("holder"):
        return SLICED if cell.parts("mig") else FREE
    letter = known.get(holder_key(cell), OTHER)
    return letter.lower() if cell.flag("working") is False else letter


def _bar_of(name: str, low: float = 0.0, high: float = 1.0) -> Callable[[JsonObject, Mapping[str, str]], str]:
    def character(cell: JsonObject, _: Mapping[str, str]) -> str:
        value = cell.number(name)
        return ABSENT if value is None else bar(value, low, high)

    return character


def _power(cell: JsonObject, _: Mapping[str, str]) -> str:
    power, limit = cell.number("power"), cell.number("power_limit")
    return ABSENT if power is None or not limit else bar(power, 0.0, limit)


def _health(cell: JsonObject, _: Mapping[str, str]) -> str:
    return MARKS.get(cell.text("health"), ABSENT)


_BARS = f"▁ low to █ high, {ABSENT} not known"
MEASURES = (
    Measure("holder", f"A job's letter, small: idle, {FREE} free, {SLICED} split, {LOST} lost", _holder),
    Measure("busy", f"{_BARS}, of the time", _bar_of("busy")),
    Measure("SM", f"{_BARS}, of the SMs' time", _bar_of("sm")),
    Measure("memory", f"{_BARS}, of what it has", _bar_of("memory")),
    Measure("power", f"{_BARS}, of its limit", _power),
    Measure(
        "temperature",
        f"▁ {format_quantity(COOL, 'celsius')} to █ {format_quantity(HOT, 'celsius')}, {ABSENT} not known",
        _bar_of("temperature", COOL, HOT),
    ),
    Measure("health", f"{FREE} well, ! a warning, X critical or lost, {ABSENT} not known", _health),
)
