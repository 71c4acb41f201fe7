"""Positions of selected vectors among those of the same kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.store.series.layout import Columns

MIN_VECTORS = 64  # below this, counting one by one is faster than with arrays
ALL = slice(None)
Selection = Columns | list[int] | slice


class RankedRows(NamedTuple):
    """Selected vectors of one kind: their places in the output, and ranks among all of their encoding."""

    places: Selection
    ranks: Selection


def scatter_rows(out: NDArray[Any], places: Selection, vectors: Iterable[Any]) -> None:
    """Write vectors to their places; a few are faster one by one."""
    if isinstance(places, list):
        for place, vector in zip(places, vectors, strict=True):
            out[place] = vector
    else:
        out[places] = vectors


def select_rows(vectors: NDArray[Any], ranks: Selection) -> Iterable[Any]:
    return [vectors[rank] for rank in ranks] if isinstance(ranks, list) else vectors[ranks]


def rank_rows(kinds: bytes, encodings: bytes, selected: Columns | list[int] | None) -> dict[int, RankedRows]:
    """Return the selected vectors by kind, given kind and encoding of every vector.

    The selection ascends, and all vectors of a kind have the same encoding.
    """
    if selected is None or len(selected) > MIN_VECTORS:
        return _rank_with_arrays(kinds, encodings, None if selected is None else np.asarray(selected))
    vectors: list[int] = selected if isinstance(selected, list) else selected.tolist()
    if not vectors:
        return {}
    first, last, kind = vectors[0], vectors[-1] + 1, kinds[vectors[0]]
    if last - first == len(vectors) == kinds.count(kind, first, last):  # adjacent, and all of one kind
        before = encodings.count(encodings[first], 0, first)
        return {kind: RankedRows(ALL, slice(before, before + len(vectors)))}
    found: dict[int, tuple[list[int], list[int]]] = {}
    for place, vector in enumerate(vectors):
        places, ranks = found.setdefault(kinds[vector], ([], []))
        places.append(place)
        ranks.append(encodings.count(encodings[vector], 0, vector))
    return {kind: RankedRows(*both) for kind, both in found.items()}


def _rank_with_arrays(kinds: bytes, encodings: bytes, selected: Columns | None) -> dict[int, RankedRows]:
    all_encodings, own_kinds = np.frombuffer(encodings, np.uint8), np.frombuffer(kinds, np.uint8)
    own_kinds = own_kinds if selected is None else own_kinds[selected]
    found = {}
    for kind in set(own_kinds.tolist()):
        places = np.flatnonzero(own_kinds == kind)
        vectors = places if selected is None else selected[places]
        same_encoding = all_encodings == all_encodings[vectors[0]]
        whole = len(vectors) == np.count_nonzero(same_encoding)
        found[kind] = RankedRows(places, ALL if whole else (np.cumsum(same_encoding) - 1)[vectors])
    return found
