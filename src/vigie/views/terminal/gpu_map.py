"""The map: a tile for each node with a character for each of its GPUs, as many tiles per row as fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vigie.views.terminal import measures
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageRow, Spot, build_link
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.text.style import DIM, tone
from vigie.views.text.text_width import pad, width
from vigie.views.text.units import format_quantity
from vigie.wire.api.rows import ClusterNode

MAX_NAME, MAX_CELLS, GAP = 24, 16, 2
HEALTHY = ("up", "ok", "")


def draw_map(
    nodes: Sequence[ClusterNode], measure: Measure, letters: Mapping[str, str], max_width: int
) -> list[PageRow]:
    if not nodes:
        return []
    room = max(1, max_width - GAP)
    name_width = min(MAX_NAME, max(width(node.name) for node in nodes), room)
    counts = [min(MAX_CELLS, len(node.cells)) or len(_format_cpu(node)) for node in nodes]
    tile_width = name_width + 1 + max(counts)
    per_row = max(1, (room + GAP) // (tile_width + GAP))
    rows = []
    for first in range(0, len(nodes), per_row):
        spans, spots = [TextSpan(" " * GAP)], []
        for number, node in enumerate(nodes[first : first + per_row]):
            start = GAP + number * (tile_width + GAP)
            blank = GAP if number < per_row - 1 else 0
            spans += _draw_tile(node, measure, letters, name_width, tile_width + blank)
            link = build_link("node", node.name)
            spots.append(Spot(start, start + tile_width, f"node:{node.name}", link, describe_node(node)))
        rows.append(PageRow(tuple(spans), tuple(spots)))
    return rows


def describe_node(node: ClusterNode) -> str:
    """Return a node in a sentence."""
    healthy = node.state in HEALTHY and not node.why
    words = [node.name, "" if healthy else ": ".join(filter(None, (node.state, node.why)))]
    if node.slurm:
        words.append(", ".join(filter(None, (node.slurm.state, node.slurm.reason))))
    shares = (("cpu", node.cpu), ("memory", node.memory))
    words += [f"{name} {format_quantity(share, 'ratio')}" for name, share in shares if share is not None]
    return "  ".join(filter(None, [*words, *_count_holders(node)]))


def _count_holders(node: ClusterNode) -> list[str]:
    counts = Counter(filter(None, map(measures.format_holder, node.cells)))
    return [f"{words}: {count} GPU{'s' * (count > 1)}" for words, count in counts.items()]


def _draw_tile(
    node: ClusterNode, measure: Measure, letters: Mapping[str, str], name_width: int, tile_width: int
) -> list[TextSpan]:
    gpus = [measures.draw_gpu(cell, measure, letters) for cell in node.cells]
    if len(gpus) > MAX_CELLS:
        gpus[MAX_CELLS - 1 :] = [TextSpan("…", DIM)]
    if not gpus:
        gpus = [TextSpan(_format_cpu(node), DIM)]
    title = TextSpan(pad(node.name, name_width) + " ", tone(node.state))
    blank = tile_width - name_width - 1 - sum(width(span.text) for span in gpus)
    return [title, *gpus, TextSpan(" " * max(0, blank))]


def _format_cpu(node: ClusterNode) -> str:
    """Return what stands for a node without GPUs."""
    return f"cpu {measures.ABSENT if node.cpu is None else format_quantity(node.cpu, 'ratio')}"
