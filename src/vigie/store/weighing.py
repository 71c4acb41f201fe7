"""How much a selection would read, without reading any of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice

from vigie.query.storage import Matcher
from vigie.store.blocks import Blocks
from vigie.store.index import Index, Matches

STREAMS_A_LOOK = 256  # while the guard is held


def weigh(
    guard: threading.RLock,
    index: Index,
    blocks: Blocks,
    matchers: Sequence[Matcher],
    start: int,
    end: int,
    enough: int,
) -> int:
    """Return at least how many values there are, or more than enough."""
    matches, total = Matches(), 0
    found = index.find(matchers)  # looks at the index once, at the first stream
    while total <= enough:
        with guard:
            some = [(one, list(one.stream.pieces)) for one in islice(found, STREAMS_A_LOOK)]
        if not some:
            break
        for one, pieces in some:
            rows = [(p.rows, p.layout) for p in pieces if p.start <= end and p.end >= start]
            if one.stream.number and start < one.stream.complete_from:
                rows += blocks.weigh(one.stream.number, start, end)
            total += sum(count * len(matches.columns(layout, one.conditions)) for count, layout in rows)
    return total
