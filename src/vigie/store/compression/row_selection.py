"""Positions of selected vectors among those of the same kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.store.series.layout import Columns

FEW = 64  # below this, counting one by one is faster than with arrays
ALL = slice(None)
Lines = Columns | list[int] | slice


class RankedRows(NamedTuple):
    """Selected vectors of one kind: their places in the output, and ranks among all of their encoding."""

    places: Lines
    ranks: Lines


def scatter_rows(out: NDArray[Any], places: Lines, lines: Iterable[Any]) -> None:
    """Write vectors to their places; a few are faster one by one."""
    if isinstance(places, list):
        for place, line in zip(places, lines, strict=True):
            out[place] = line
    else:
        out[places] = lines


def select_rows(lines: NDArray[Any], ranks: Lines) -> Iterable[Any]:
    return [lines[rank] for rank in ranks] if isinstance(ranks, list) else lines[ranks]


def rank_rows(kinds: bytes, sorts: bytes, chosen: Columns | list[int] | None) -> dict[int, RankedRows]:
    """Return the selected vectors by kind, given kind and encoding of every vector.

    The selection ascends, and all vectors of a kind have the same encoding.
    """
    if chosen is None or len(chosen) > FEW:
        return _at_once(kinds, sorts, None if chosen is None else np.asarray(chosen))
    lines: list[int] = chosen if isinstance(chosen, list) else chosen.tolist()
    if not lines:
        return {}
    first, last, kind = lines[0], lines[-1] + 1, kinds[lines[0]]
    if last - first == len(lines) == kinds.count(kind, first, last):  # adjacent, and all of one kind
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
