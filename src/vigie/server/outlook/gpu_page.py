"""The GPU page: whether it works, whether it is healthy, and whose it was when."""

from __future__ import annotations

import asyncio
from typing import Any

from vigie.server.outlook.asking import Ask, Found
from vigie.server.outlook.attention import REASONS, Attention
from vigie.server.outlook.cells import Cells
from vigie.server.outlook.cluster import needs
from vigie.server.outlook.gpu_health import HEALTH_ASKS, facts
from vigie.server.outlook.outlook import Outlook
from vigie.server.outlook.picture import JOB, Picture, Place, place_of
from vigie.server.outlook.seen import Seen
from vigie.server.outlook.selecting import gpu_matcher
from vigie.server.outlook.shapes import CRITICAL, OK, WARNING, number, verdict
from vigie.server.outlook.words import shown

DAY_MS = 86_400_000
MOST_RANKS, MOST_XIDS = 64, 50
SILENT = "the GPU does not say so at this moment"


async def gpu_page(outlook: Outlook, picture: Picture, seen: Seen, place: Place) -> dict[str, Any]:
    """Return the page of a GPU."""
    here = gpu_matcher(*place)
    asks = {name: Ask(query % here, ()) for name, query in HEALTH_ASKS.items()}
    found = await outlook.asker.ask(asks, picture.at_ms)
    cells = Cells(picture, seen)
    cell, card = cells.of(place), picture.cards[place]
    attention = Attention(picture, seen).all(lambda trouble: place in trouble.gpus)
    siblings = [cells.of(other.place) for other in picture.on_node[place[0]] if other.place != place]
    return {
        "at_ms": picture.at_ms,
        "verdict": _verdict(cell, picture.number("busy_5m", *place), attention),
        "numbers": _numbers(cell, found, here),
        "cell": cell,
        "info": {**card._asdict(), "processes": picture.number("processes", *place)},
        "holders": await asyncio.to_thread(_holders, outlook, picture, seen, place),
        "health": {
            "xids": await asyncio.to_thread(_xids, outlook, picture, seen, place),
            "facts": facts(found),
        },
        "siblings": siblings,
        "ranks": _ranks(picture, cells, place),
        "attention": attention,
    }


def _verdict(cell: dict[str, Any], lately: float | None, attention: list[dict[str, Any]]) -> dict[str, str]:
    name = f"{cell['node']}:{cell['gpu']}"
    holder = cell["holder"]
    whose = (
        f"Held by {holder['kind']} {holder['name']} of {holder['user']}." if holder else "Nobody holds it."
    )
    open_ones = [row for row in attention if row["until_ms"] is None]
    if cell["health"] == "lost":
        words = open_ones[0]["what"] if open_ones else f"{name} is lost: {cell['why']}."
        return verdict(CRITICAL, words)
    state, _ = needs(attention)
    if open_ones:
        return verdict(state, open_ones[0]["what"], whose)
    if cell["working"] is None:
        return verdict(OK, "It is well; nothing tells whether it works.", whose)
    works = "It works" if cell["working"] else "It does nothing"
    busy = f", busy {shown(lately, 'ratio')} of the last 5 min" if lately is not None else ""
    idle = WARNING if holder and not cell["working"] else OK
    return verdict(idle, f"{works}{busy}, and is well.", whose)


def _numbers(cell: dict[str, Any], found: Found, here: str) -> list[dict[str, Any]]:
    def asked(name: str) -> float | None:
        rows = found.rows.get(name, [])
        return rows[0].value if rows else None

    width, lanes = asked("pcie_width"), asked("pcie_width_max")
    slow = width is not None and lanes is not None and width < lanes
    held = " and ".join(REASONS.get(reason, reason) for reason in cell["throttled"])
    clock = number(
        "clock",
        f"Clock, held back: {held}" if held else "Clock",
        cell["clock"],
        "hertz",
        of=asked("clock_max"),
        state=WARNING if held else OK,
        query=f"vigie_gpu_clock_hertz{{{here}}}",
        reason=SILENT,
    )
    return [
        number(
            "busy",
            ", ".join(["Busy", *_parts(SM=cell["sm"], tensor=asked("tensor"))]),
            cell["busy"],
            "ratio",
            query=f"vigie_gpu_busy_ratio{{{here}}}",
            reason=SILENT,
        ),
        number(
            "memory",
            "Memory",
            cell["memory_bytes"],
            "bytes",
            of=cell["memory_total_bytes"],
            query=f"vigie_gpu_memory_used_bytes{{{here}}}",
            reason=SILENT,
        ),
        number(
            "power",
            "Power",
            cell["power"],
            "watts",
            of=cell["power_limit"],
            query=f"vigie_gpu_power_watts{{{here}}}",
            reason=SILENT,
        ),
        number(
            "temperature",
            "Temperature",
            cell["temperature"],
            "celsius",
            of=asked("slowdown"),
            query=f"vigie_gpu_temperature_celsius{{{here}}}",
            reason=SILENT,
        ),
        clock,
        number(
            "pcie",
            ", ".join(["PCIe lanes", *_generation(asked("pcie_generation"), asked("pcie_generation_max"))]),
            width,
            of=lanes,
            state=WARNING if slow else OK,
            query=f"vigie_gpu_pcie_width{{{here}}}",
            reason=SILENT,
        ),
    ]


def _parts(**shares: float | None) -> list[str]:
    """Return how much of the GPU's parts is at work, as far as that is known."""
    return [f"{name} {shown(share, 'ratio')}" for name, share in shares.items() if share is not None]


def _generation(now: float | None, most: float | None) -> list[str]:
    """Return which PCIe is spoken, of which could be; an idle GPU speaks a slower one, and that is well."""
    return [] if now is None else [f"generation {now:g}" + (f" of {most:g}" if most else "")]


def _holders(outlook: Outlook, picture: Picture, seen: Seen, place: Place) -> list[dict[str, Any]]:
    """Return whose it was in the last day and is, the oldest first."""
    node, gpu = place
    rows = []
    for kept in outlook.known.held_on(node, gpu, picture.at_ms - DAY_MS, picture.at_ms):
        told = seen.binding(kept)
        end = told["to_ms"]
        rows.append(
            {
                "kind": told["kind"],
                "id": told["holder"],
                "name": told["facts"].get("name", "") or told["holder"],
                "user": told["user"],
                "from_ms": told["from_ms"],
                "to_ms": end if end is not None and end <= picture.at_ms else None,
            }
        )
    return sorted(rows, key=lambda row: (int(row["from_ms"]), str(row["kind"])))


def _xids(outlook: Outlook, picture: Picture, seen: Seen, place: Place) -> list[dict[str, Any]]:
    found = outlook.known.events(("xid",), 0, picture.at_ms)
    mine = [kept for kept in found if (kept.event.where.get("node"), kept.event.where.get("gpu")) == place]
    return [seen.event(kept.json) for kept in mine[:MOST_XIDS]]


def _ranks(picture: Picture, cells: Cells, place: Place) -> list[dict[str, Any]]:
    """Return the other GPUs of the job that holds it."""
    held = next((kept for kept in picture.held.get(place, ()) if kept.binding.holder_kind == JOB), None)
    job = picture.jobs.get(held.binding.holder) if held else None
    others = [other for text in (job.gpus if job else ()) if (other := place_of(text)) != place]
    return [cells.of(other) for other in others[:MOST_RANKS] if other in picture.cards]
