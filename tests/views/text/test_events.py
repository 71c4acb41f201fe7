"""Events as lines: aligned, wrapped, and without control characters."""

from __future__ import annotations

import msgspec
import pytest

from vigie.views.text.events import lines
from vigie.views.text.text_width import width
from vigie.wire.api.resources import EventRow

XID = EventRow(1, "n1", "xid", 0, 90_000, "fell off the bus", {"gpu": "0"}, "critical")


def test_events_are_aligned_and_wrapped() -> None:
    events = [XID, msgspec.structs.replace(XID, node="node-two", what="too", end_ms=None)]
    first, second = lines(events, None)
    assert first.endswith("  critical  n1        xid: fell off the bus (for 1m30s)")
    assert second.endswith("  critical  node-two  xid: too")
    narrow = list(lines(events, 40))
    assert narrow[1] == "  xid: fell off the bus (for 1m30s)"
    assert all(width(line) <= 40 for line in narrow)


@pytest.mark.parametrize("field", ["severity", "node", "kind", "what"])
def test_no_word_of_an_event_steers_the_terminal(field: str) -> None:
    (line,) = lines([msgspec.structs.replace(XID, **{field: "\x1b[2J"})], None)
    assert "?[2J" in line
    assert line.isprintable()
