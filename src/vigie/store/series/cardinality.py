"""Counts live series per label pair, without building label sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vigie.store.series.layout import Layout, Target

Pairs = Counter[tuple[str, str]]


def count_label_pairs(live: Iterable[tuple[Target, Layout]]) -> Pairs:
    """Return the number of series per label pair, given target and layout of every stream."""
    pairs: Pairs = Counter()
    streams: Counter[Layout] = Counter()
    for target, layout in live:
        streams[layout] += 1
        for pair in target:
            pairs[pair] += len(layout)
    for layout, count in streams.items():
        for pair, series in Counter(pair for key in layout.series for pair in key).items():
            pairs[pair] += series * count
    return pairs
