"""Where chosen lines stand among those that are pressed together with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vigie.store.series.layout import Columns

FEW = 64  # lines that are counted one by one sooner than as arrays
ALL = slice(None)


class Ranked(NamedTuple):
    """Which of the chosen lines are of one kind, and which of all lines of their sort each of them is."""

    places: Columns | list[int]
    ranks: Columns | list[int] | slice


def ranked(kinds: bytes, sorts: bytes, chosen: Columns | None) -> dict[int, Ranked]:
    """Return lines by kind, given kind and sort of every line; all lines of a kind are of one sort."""
    if chosen is None or len(chosen) > FEW:
        return _at_once(kinds, sorts, chosen)
    places: dict[int, list[int]] = {}
    ranks: dict[int, list[int]] = {}
    for place, line in enumerate(chosen.tolist()):
        kind = kinds[line]
        places.setdefault(kind, []).append(place)
        ranks.setdefault(kind, []).append(sorts.count(sorts[line], 0, line))
    return {kind: Ranked(places[kind], ranks[kind]) for kind in places}


def _at_once(kinds: bytes, sorts: bytes, chosen: Columns | None) -> dict[int, Ranked]:
    every, picked = np.frombuffer(sorts, np.uint8), np.frombuffer(kinds, np.uint8)
    picked = picked if chosen is None else picked[chosen]
    found = {}
    for kind in set(picked.tolist()):
        places = np.flatnonzero(picked == kind)
        lines = places if chosen is None else chosen[places]
        alike = every == every[lines[0]]
        whole = len(lines) == np.count_nonzero(alike)
        found[kind] = Ranked(places, ALL if whole else (np.cumsum(alike) - 1)[lines])
    return found
