"""The map: a tile for each node with a character for each of its GPUs, as many tiles a row as fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vigie.views.terminal import measures
from vigie.views.terminal.json_object import JsonObject, route
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageRow, Spot
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.text.style import DIM, tone
from vigie.views.text.text_width import pad, width
from vigie.views.text.units import format_quantity

MOST_NAME, MOST_CELLS, GAP = 24, 16, 2
HEALTHY = ("up", "ok", "")


def grid(nodes: Sequence[JsonObject], measure: Measure, known: Mapping[str, str], most: int) -> list[PageRow]:
    if not nodes:
        return []
    room = max(1, most - GAP)
    name = min(MOST_NAME, max(width(node.text("name")) for node in nodes), room)
    counts = [min(MOST_CELLS, len(node.parts("cells"))) or len(_cpu(node)) for node in nodes]
    tile = name + 1 + max(counts)
    across = max(1, (room + GAP) // (tile + GAP))
    rows = []
    for first in range(0, len(nodes), across):
        spans, spots = [TextSpan(" " * GAP)], []
        for number, node in enumerate(nodes[first : first + across]):
            start = GAP + number * (tile + GAP)
            spans += _tile(node, measure, known, name, tile + (GAP if number < across - 1 else 0))
            title = node.text("name")
            spots.append(Spot(start, start + tile, f"node:{title}", route("node", title), about(node)))
        rows.append(PageRow(tuple(spans), tuple(spots)))
    return rows


def about(node: JsonObject) -> str:
    """Return a node in a sentence."""
    state = node.text("state")
    words = [node.text("name"), "" if state in HEALTHY and not node.text("why") else _state(node)]
    slurm = node.part("slurm")
    words.append(", ".join(filter(None, (slurm.text("state"), slurm.text("reason")))))
    words += [
        f"{name} {format_quantity(share, 'ratio')}"
        for name in ("cpu", "memory")
        if (share := node.number(name)) is not None
    ]
    return "  ".join(filter(None, [*words, *_holders(node)]))


def _state(node: JsonObject) -> str:
    return ": ".join(filter(None, (node.text("state"), node.text("why"))))


def _holders(node: JsonObject) -> list[str]:
    counts = Counter(filter(None, map(measures.holder, node.parts("cells"))))
    return [f"{words}: {count} GPU{'s' * (count > 1)}" for words, count in counts.items()]


def _tile(
    node: JsonObject, measure: Measure, known: Mapping[str, str], name: int, tile: int
) -> list[TextSpan]:
    gpus = [measures.span(cell, measure, known) for cell in node.parts("cells")]
    if len(gpus) > MOST_CELLS:
        gpus[MOST_CELLS - 1 :] = [TextSpan("…", DIM)]
    if not gpus:
        gpus = [TextSpan(_cpu(node), DIM)]
    title = TextSpan(pad(node.text("name"), name) + " ", tone(node.text("state")))
    blank = tile - name - 1 - sum(width(span.text) for span in gpus)
    return [title, *gpus, TextSpan(" " * max(0, blank))]


def _cpu(node: JsonObject) -> str:
    """Return what stands for a node without GPUs."""
    share = node.number("cpu")
    return f"cpu {measures.ABSENT}" if share is None else f"cpu {format_quantity(share, 'ratio')}"
