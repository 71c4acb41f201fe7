"""How a page opens: its verdict, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.measures import ABSENT
from vigie.views.terminal.styled_text import Line, TextSpan, length, line
from vigie.views.text.style import BOLD, DIM, tone
from vigie.views.text.text_width import cut, wrap
from vigie.views.text.units import format_quantity


def opening(answer: JsonObject, most: int) -> tuple[Line, ...]:
    """Return the verdict in at most two lines, and the numbers in at most three."""
    verdict = answer.part("verdict")
    style = tone(verdict.text("state")) or BOLD
    first, *rest = wrap(verdict.text("sentence"), most)
    sentence = [first, cut(" ".join(rest), most)] if rest else [first]
    return (*(line(TextSpan(text, style)) for text in sentence), *_numbers(answer.parts("numbers"), most)[:3])


def flowing(pieces: Sequence[Line], most: int) -> list[Line]:
    """Return pieces side by side, in as many lines as they need."""
    lines: list[Line] = []
    for piece in pieces:
        if lines and length(lines[-1]) + 3 + length(piece) <= most:
            lines[-1] = (*lines[-1], TextSpan("   "), *piece)
        else:
            lines.append(piece)
    return lines


def _numbers(found: Sequence[JsonObject], most: int) -> list[Line]:
    """Return the numbers, then those that are not known; a total and a reason are told once."""
    pieces: list[Line] = []
    totals: set[float | None] = set()
    absent: dict[str, list[str]] = {}
    for one in found:
        value, total = one.number("value"), one.number("of")
        if value is None:
            absent.setdefault(one.text("reason"), []).append(_label(one))
        else:
            pieces.append(_number(one, value, None if total in totals else total))
            totals.add(total)
    for reason, labels in absent.items():
        words = f"{', '.join(labels)}: {ABSENT} {reason}".rstrip()
        pieces += [line(TextSpan(text, DIM)) for text in wrap(words, most, "  ")]
    return flowing(pieces, most)


def _number(one: JsonObject, value: float, total: float | None) -> Line:
    unit = one.text("unit")
    words = format_quantity(value, unit) + ("" if total is None else f" of {format_quantity(total, unit)}")
    return line(TextSpan(words, tone(one.text("state"))), TextSpan(f" {_label(one)}", DIM))


def _label(one: JsonObject) -> str:
    label = one.text("label")
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
