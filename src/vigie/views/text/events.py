"""What happened, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vigie.views.text.style import paint, tone
from vigie.views.text.text_width import clean, pad, width, wrap
from vigie.views.text.times import clock, format_duration
from vigie.wire.api.resources import EventRow

WORD = 8  # as long as "critical"


def lines(events: Sequence[EventRow], max_width: int | None, colour: bool = False) -> Iterator[str]:
    """Yield each event, with the nodes below each other; a long one goes on on further lines, indented."""
    nodes = max((width(_node(event)) for event in events), default=0)
    for event in events:
        line = f"{clock(event.begin_ms)}  {clean(event.severity):<{WORD}}  {pad(_node(event), nodes)}"
        line = f"{line}  {clean(event.kind)}: {clean(event.what)}{_format_length(event)}"
        first, *rest = [line] if max_width is None else wrap(line, max_width, "  ")
        yield paint(first, tone(event.severity)) if colour else first
        yield from rest


def _node(event: EventRow) -> str:
    return clean(event.node) or "-"


def _format_length(event: EventRow) -> str:
    if event.end_ms is None:
        return ""
    return f" (for {format_duration(event.end_ms - event.begin_ms)})"
