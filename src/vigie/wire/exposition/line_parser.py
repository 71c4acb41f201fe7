"""Parser of one exposition line: text 0.0.4 and OpenMetrics 1.0, as Prometheus parses them."""

from __future__ import annotations

import math
import re
import sys
from typing import NamedTuple

from vigie.model import Metric
from vigie.model.nan import NAN
from vigie.model.table import Series

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_HEAD = re.compile(r"[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)?[ \t]*(\{)?")
_LABEL = re.compile(
    rf"[ \t]*(?:([a-zA-Z_][a-zA-Z0-9_]*)|{_QUOTED})[ \t]*(?:=[ \t]*{_QUOTED}[ \t]*)?(?:,|(?=\}}))"
)
_CLOSE = re.compile(r"[ \t]*\}")
_REST = re.compile(r"([ \t]*)([^ \t#]+)(?:[ \t]+([^ \t#]+))?[ \t]*(#.*)?$")
_ESCAPE = re.compile(r'\\([\\"n])')
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER_BYTES = b"0123456789.+- eEiInNfFtTyYaA"
MAX_TIMESTAMP_MS = 1 << 61
MAX_LINE = 64 << 10  # characters


class ParseError(ValueError):
    """Invalid exposition. The message says where and why, and quotes nothing: it may be a secret."""


class ExpositionLine(NamedTuple):
    """A sample: the text of the series with one trailing space, the series, value and timestamp."""

    text: str
    series: Series
    value: float
    time_ms: int | None


def parse_line(line: str, openmetrics: bool) -> ExpositionLine:
    """Return the sample in a line, or raise ParseError."""
    if len(line) > MAX_LINE:
        raise ParseError(f"longer than {MAX_LINE} characters")
    series, end = _parse_series(line)
    rest = _REST.match(line, end)
    if rest is None or not (rest.group(1) or line[end - 1] == "}"):
        raise ParseError("no value")
    _, value, time, exemplar = rest.groups()
    if exemplar and not openmetrics:
        raise ParseError("unexpected text after the value")
    time_ms = None if time is None else parse_timestamp(time, openmetrics)
    return ExpositionLine(line[:end].strip(" \t") + " ", series, parse_value(value), time_ms)


def parse_value(text: str) -> float:
    """Return the value. float() alone would accept digits of other scripts, spaces and underscores."""
    try:
        value = float(text)
    except ValueError:
        raise ParseError("the value is not a number") from None
    if not _is_plain(text):
        raise ParseError("the value is not a number")
    return _normalize(text, value) if value - value != 0 else value


def parse_values(texts: list[str]) -> list[float] | None:
    """Parse many values at once, or return None if one needs the slow path."""
    try:
        values = list(map(float, texts))
    except ValueError:
        return None
    if not _is_plain(" ".join(texts)):
        return None
    if math.isfinite(sum(values)):  # finite values may have an infinite sum: rare, and only slower
        return values
    return [_normalize(text, value) for text, value in zip(texts, values, strict=True)]


def _is_plain(text: str) -> bool:
    """Return whether the text has only characters that a number may have."""
    return not text.encode().translate(None, _NUMBER_BYTES)


def _normalize(text: str, value: float) -> float:
    """Return the canonical NaN for any NaN, and infinity only if it is written as such."""
    if value != value:
        return NAN
    if math.isinf(value) and "f" not in text.lower():
        raise ParseError("the value is too large")
    return value


def parse_timestamp(text: str, openmetrics: bool) -> int:
    """Return the timestamp in milliseconds. OpenMetrics uses seconds."""
    if openmetrics:
        seconds = parse_value(text)
        time = MAX_TIMESTAMP_MS if seconds - seconds != 0 else round(seconds * 1000)
    elif _WHOLE.fullmatch(text):
        time = int(text)
    else:
        raise ParseError("the timestamp is not in milliseconds")
    if abs(time) >= MAX_TIMESTAMP_MS:
        raise ParseError("the timestamp is out of range")
    return time


def parse_timestamps(texts: list[str], openmetrics: bool) -> list[int]:
    """Parse many timestamps at once."""
    together = "".join(texts)
    if not openmetrics and together.isascii() and together.isdecimal() and max(map(len, texts)) < 19:
        return list(map(int, texts))
    return [parse_timestamp(text, openmetrics) for text in texts]


def _parse_series(line: str) -> tuple[Series, int]:
    head = _HEAD.match(line)
    assert head is not None  # it also matches an empty string
    name, brace = head.groups()
    if not brace:
        if name is None:
            raise ParseError("no name")
        return (Metric(sys.intern(name), "untyped", ""), ()), head.end(1)
    name, labels, end = _parse_labels(line, head.end(), name)
    if not name:
        raise ParseError("no name")
    names = tuple(map(sys.intern, labels))
    return (Metric(sys.intern(name), "untyped", "", names), tuple(map(sys.intern, labels.values()))), end


def _parse_labels(line: str, at: int, name: str | None) -> tuple[str | None, dict[str, str], int]:
    """Return name, labels and end offset. A quoted string without a value is the name."""
    labels: dict[str, str] = {}
    while (close := _CLOSE.match(line, at)) is None:
        match = _LABEL.match(line, at)
        if match is None:
            raise ParseError(f"no label at character {at + 1}")
        plain, quoted, value = match.groups()
        label = unescape(quoted) if plain is None else plain
        at = match.end()
        if value is not None and label and label not in labels and label != "__name__":
            labels[label] = unescape(value)
        elif value is None and plain is None and name is None:
            name = label
        else:
            raise ParseError(f"invalid or duplicate label before character {at + 1}")
    return name, labels, close.end()


def unescape(text: str) -> str:
    """Replace escape sequences. A backslash before another character stays."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: "\n" if match.group(1) == "n" else match.group(1), text)
