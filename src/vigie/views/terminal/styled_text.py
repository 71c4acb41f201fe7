"""Lines of styled text, cut to a width and turned into what a terminal understands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vigie.views.text.style import COLOURS, CRITICAL, WARNING
from vigie.views.text.text_width import clean, cut, width

# Every drawing character that the pages use, and what stands for it where only ASCII is wanted.
DRAWN = str.maketrans("…·▁▂▃▄▅▆▇█░▉▓▒", "~.12345678/#=-")


class TextSpan(NamedTuple):
    """A piece of a line."""

    text: str
    style: str = ""
    chosen: bool = False


Line = tuple[TextSpan, ...]


class TerminalStyle(NamedTuple):
    """What a terminal can show."""

    colour: bool = True
    ascii: bool = False


def line(*parts: str | TextSpan) -> Line:
    """Return a line of words and spans."""
    return tuple(TextSpan(part) if isinstance(part, str) else part for part in parts)


def length(spans: Line) -> int:
    """Return how many columns the line takes."""
    return sum(width(span.text) for span in spans)


def clip(spans: Line, max_width: int) -> Line:
    """Return the line in at most so many columns."""
    if length(spans) <= max_width:
        return spans
    kept: list[TextSpan] = []
    for span in spans:
        room = max_width - length(tuple(kept))
        if room <= 0:
            break
        fits = width(span.text) < room or (width(span.text) == room and span is spans[-1])
        kept.append(span if fits else span._replace(text=cut(span.text + " …", room)))
    return tuple(kept)


def spread(left: Line, right: Line, max_width: int) -> Line:
    """Return a line with one part at each end; the right one goes first when room is short."""
    gap = max_width - length(left) - length(right)
    return (*left, TextSpan(" " * gap), *right) if gap >= 2 else clip(left, max_width)


def highlight(spans: Line, start: int, end: int) -> Line:
    """Return the line with the columns from start to before end marked as chosen."""
    marked: list[TextSpan] = []
    at = 0
    for span in spans:
        marked.extend(_pieces(span, start - at, end - at))
        at += width(span.text)
    if (missing := end - max(at, start)) > 0:
        marked.append(TextSpan(" " * missing, "", True))
    return tuple(marked)


def encode_line(spans: Line, look: TerminalStyle) -> str:
    return "".join(_encode_span(span, look) for span in spans)


def plain(spans: Line, look: TerminalStyle) -> str:
    return "".join(_to_terminal_charset(span.text, look) for span in spans).rstrip()


def _pieces(span: TextSpan, start: int, end: int) -> Iterable[TextSpan]:
    if end <= 0 or start >= width(span.text):
        yield span
        return
    before = cut(span.text, max(0, start), "")
    within = cut(span.text[len(before) :], end - max(0, start), "")
    after = span.text[len(before) + len(within) :]
    for text, chosen in ((before, False), (within, True), (after, False)):
        if text:
            yield TextSpan(text, span.style, chosen)


def _encode_span(span: TextSpan, look: TerminalStyle) -> str:
    colours = (WARNING, CRITICAL)
    codes = [COLOURS[span.style]] if span.style and (look.colour or span.style not in colours) else []
    codes += ["7"] if span.chosen else []
    text = _to_terminal_charset(span.text, look)
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes else text


def _to_terminal_charset(text: str, look: TerminalStyle) -> str:
    text = clean(text)
    if not look.ascii or text.isascii():
        return text
    text = text.translate(DRAWN).replace("°", " ")
    return "".join(char if char.isascii() else "?" * width(char) for char in text)
