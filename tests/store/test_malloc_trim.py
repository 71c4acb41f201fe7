"""Memory that was needed for a while is given back to the system."""

from __future__ import annotations

import resource
from pathlib import Path

from vigie.store.malloc_trim import EVERY_MS, MallocTrim

PIECE, PIECES = 1000, 60_000  # bytes: more than Python manages by itself, less than a mapping of its own


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_holes_among_what_stays_are_given_back_when_it_is_time() -> None:
    spare, stays = MallocTrim(), list[list[bytes]]()
    freed = list[int]()
    for now in (0, 1, EVERY_MS, 2):
        pieces = [bytes(PIECE) for _ in range(PIECES)]
        stays.append(pieces[::50])
        del pieces
        before = resident()
        spare.trim(now)
        freed.append(before - resident())
    due_at_first, too_soon, due_again, clock_set_back = freed
    assert min(due_at_first, due_again, clock_set_back) > PIECE * PIECES // 3
    assert too_soon < PIECE * PIECES // 30
