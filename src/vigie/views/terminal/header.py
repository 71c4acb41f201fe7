"""The head of a page: its verdict, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.views.terminal.measures import ABSENT
from vigie.views.terminal.styled_text import Line, TextSpan, length, line
from vigie.views.text.style import BOLD, DIM, tone
from vigie.views.text.text_width import cut, wrap
from vigie.views.text.units import format_quantity
from vigie.wire.api.pages import DetailsPage, Page
from vigie.wire.api.rows import Stat


def build_header(page: Page, max_width: int) -> tuple[Line, ...]:
    """Return the verdict in at most two lines, and the numbers in at most three."""
    style = tone(page.verdict.state) or BOLD
    first, *rest = wrap(page.verdict.sentence, max_width)
    sentence = [first, cut(" ".join(rest), max_width)] if rest else [first]
    numbers = _format_stats(page.numbers, max_width)[:3] if isinstance(page, DetailsPage) else []
    return (*(line(TextSpan(text, style)) for text in sentence), *numbers)


def flow_lines(pieces: Sequence[Line], max_width: int) -> list[Line]:
    """Return pieces side by side, in as many lines as they need."""
    lines: list[Line] = []
    for piece in pieces:
        if lines and length(lines[-1]) + 3 + length(piece) <= max_width:
            lines[-1] = (*lines[-1], TextSpan("   "), *piece)
        else:
            lines.append(piece)
    return lines


def _format_stats(stats: Sequence[Stat], max_width: int) -> list[Line]:
    """Return the numbers, then the absent ones; a total and a reason are printed once."""
    pieces: list[Line] = []
    totals: set[float | None] = set()
    absent: dict[str, list[str]] = {}
    for stat in stats:
        if stat.value is None:
            absent.setdefault(stat.reason, []).append(_label(stat))
        else:
            pieces.append(_format_stat(stat, stat.value, None if stat.of in totals else stat.of))
            totals.add(stat.of)
    for reason, labels in absent.items():
        words = f"{', '.join(labels)}: {ABSENT} {reason}".rstrip()
        pieces += [line(TextSpan(text, DIM)) for text in wrap(words, max_width, "  ")]
    return flow_lines(pieces, max_width)


def _format_stat(stat: Stat, value: float, total: float | None) -> Line:
    words = format_quantity(value, stat.unit)
    words += "" if total is None else f" of {format_quantity(total, stat.unit)}"
    return line(TextSpan(words, tone(stat.state)), TextSpan(f" {_label(stat)}", DIM))


def _label(stat: Stat) -> str:
    label = stat.label
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
