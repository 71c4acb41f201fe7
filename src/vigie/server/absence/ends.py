"""Ends the series of a node with its last frame before a gap, in a group as it is read."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vigie.model.values import ABSENT_BITS, STALE_BITS
from vigie.query.label_rows import LabelRows
from vigie.query.storage import Group
from vigie.server.absence.gaps import Gap


def target_of(group: Group) -> tuple[str, str] | None:
    """Return instance and job of a group's series; None if they are of several."""
    instance, job = _only(group, "instance"), _only(group, "job")
    return (instance, job) if instance and job else None


def with_ends(group: Group, gaps: Iterable[Gap], end: int) -> Group:
    """Return the group with a stale marker behind the last frame before each gap that ends series."""
    places, times, columns = [], [], []
    for gap in gaps:
        place = int(group.times.searchsorted(gap.start, side="right"))
        marker = gap.start + 1
        if not gap.ends_series or not place or marker > end:
            continue
        bits = group.values[:, place - 1].view(np.uint64)
        live = (bits != ABSENT_BITS) & (bits != STALE_BITS)
        if live.any():
            places.append(place)
            times.append(marker)
            columns.append(np.where(live, np.uint64(STALE_BITS), np.uint64(ABSENT_BITS)))
    if not places:
        return group
    values = np.insert(group.values.view(np.uint64), places, np.stack(columns, axis=1), axis=1)
    return Group(group.labels, np.insert(group.times, places, times), values.view(np.float64))


def _only(group: Group, name: str) -> str:
    if isinstance(group.labels, LabelRows):
        values, codes = group.labels.column(name)
        if codes is None:
            return values[0] if values else ""
        return values[codes[0]] if len(codes) and (codes == codes[0]).all() else ""
    found = {labels.get(name, "") for labels in group.labels}
    return found.pop() if len(found) == 1 else ""
