"""What stays is not walked through again, and what is dropped later is still found."""

from __future__ import annotations

import gc
import weakref

from vigie.server.maintenance import GcFreezer


class Knot:
    """Refers to itself, so that only the collector can free it."""

    def __init__(self) -> None:
        self.itself = self


def test_much_that_came_is_passed_over_from_then_on_and_new_garbage_is_collected() -> None:
    before = gc.get_threshold()
    try:
        lasting = GcFreezer()
        lasting.look()
        frozen = gc.get_freeze_count()
        lasting.look()
        assert gc.get_freeze_count() <= frozen  # nothing has come meanwhile
        kept = [[number] for number in range(frozen * 2)]
        lasting.look()
        assert gc.get_freeze_count() > frozen + len(kept) // 2
        gone = weakref.ref(Knot())
        gc.collect()
        assert gone() is None
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
