"""Where chosen lines stand among those that are pressed together with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.store.series.layout import Columns

FEW = 64  # lines that are counted one by one sooner than as arrays
ALL = slice(None)
Lines = Columns | list[int] | slice


class RankedRows(NamedTuple):
    """Which of the chosen lines are of one kind, and which of all lines of their sort each of them is."""

    places: Lines
    ranks: Lines


def scatter_rows(out: NDArray[Any], places: Lines, lines: Iterable[Any]) -> None:
    """Write lines to their places; a few of them one by one, which numpy does slower at once."""
    if isinstance(places, list):
        for place, line in zip(places, lines, strict=True):
            out[place] = line
    else:
        out[places] = lines


def select_rows(lines: NDArray[Any], ranks: Lines) -> Iterable[Any]:
    return [lines[rank] for rank in ranks] if isinstance(ranks, list) else lines[ranks]


def rank_rows(kinds: bytes, sorts: bytes, chosen: Columns | list[int] | None) -> dict[int, RankedRows]:
    """Return lines by kind, given kind and sort of every line; all lines of a kind are of one sort.

    The chosen lines ascend.
    """
    if chosen is None or len(chosen) > FEW:
        return _at_once(kinds, sorts, None if chosen is None else np.asarray(chosen))
    lines: list[int] = chosen if isinstance(chosen, list) else chosen.tolist()
    if not lines:
        return {}
    first, last, kind = lines[0], lines[-1] + 1, kinds[lines[0]]
    if last - first == len(lines) == kinds.count(kind, first, last):  # side by side, and all of one kind
        before = sorts.count(sorts[first], 0, first)
        return {kind: RankedRows(ALL, slice(before, before + len(lines)))}
    found: dict[int, tuple[list[int], list[int]]] = {}
    for place, line in enumerate(lines):
        places, ranks = found.setdefault(kinds[line], ([], []))
        places.append(place)
        ranks.append(sorts.count(sorts[line], 0, line))
    return {kind: RankedRows(*both) for kind, both in found.items()}


def _at_once(kinds: bytes, sorts: bytes, chosen: Columns | None) -> dict[int, RankedRows]:
    every, mine = np.frombuffer(sorts, np.uint8), np.frombuffer(kinds, np.uint8)
    mine = mine if chosen is None else mine[chosen]
    found = {}
    for kind in set(mine.tolist()):
        places = np.flatnonzero(mine == kind)
        lines = places if chosen is None else chosen[places]
        alike = every == every[lines[0]]
        whole = len(lines) == np.count_nonzero(alike)
        found[kind] = RankedRows(places, ALL if whole else (np.cumsum(alike) - 1)[lines])
    return found
