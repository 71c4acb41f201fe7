"""Answers as the JSON of Prometheus's API; a million points take a fifth of a second.

Numbers are written in bulk and mended where Go would spell them otherwise, small whole ones are copied from
a table; the text around them, which is the times, is made once for all series that share theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from vigie.query.arrays import Floats, Times
from vigie.query.engine import QueryResult, ResultSeries
from vigie.query.functions.number_format import format_number
from vigie.query.storage import Labels
from vigie.server.http.responses import make_printable

TRUNCATED = "results truncated due to limit"
MAX_FRAMES = 256
BATCH_SERIES = 64  # series that are looked at at once
DIGITS = np.array([b"%d" % number for number in range(10_000)], dtype="S4").view(np.uint32)
_json = msgspec.json.Encoder().encode
_sorted_json = msgspec.json.Encoder(order="deterministic").encode  # by the names of labels


def success(data: bytes, warnings: Sequence[str] = ()) -> bytes:
    """Return the body of an answer whose data are JSON already."""
    return b'{"status":"success","data":%b%b}' % (data, _warnings(warnings))


def document(data: Any, warnings: Sequence[str] = ()) -> bytes:
    """Return the body of an answer that is a document."""
    return success(_json(data), warnings)


def encode_strings(found: Sequence[str], limit: int | None) -> bytes:
    """Return the body of an answer that is a list of words, at most so many."""
    return document([make_printable(word) for word in found[:limit]], _truncation(len(found), limit))


def label_sets(found: Sequence[Labels], limit: int | None) -> bytes:
    """Return the body of an answer that is a list of series, at most so many."""
    return success(b"[%b]" % b",".join(map(_labels, found[:limit])), _truncation(len(found), limit))


def result(answer: QueryResult, at: int, limit: int | None = None, stats: Any = None) -> Iterator[bytes]:
    """Yield the body of the answer to a query, part by part; `at` is the time of a text."""
    many = answer.kind in ("vector", "matrix")
    remarks = (*answer.warnings, *(_truncation(len(answer.series), limit) if many else ()))
    yield b'{"status":"success","data":{"resultType":"%b","result":' % answer.kind.encode()
    yield from _result(answer, at, limit)
    if stats is not None:
        yield b',"stats":%b' % _json(stats)
    yield b"}%b}" % _warnings(remarks)


def numbers(values: Floats) -> list[bytes]:
    """Return each value as Go's JSON of Prometheus spells it, in bulk."""
    if not len(values):
        return []
    text: bytes = _json(values.tolist())[1:-1]
    # Every token ends with a comma or the end, and only whole numbers end in ".0".
    found = (text + b",").replace(b".0,", b",")[:-1].split(b",")
    if b"e" in text or b"n" in text:
        found = [
            _spell_as_go(token, value) if b"e" in token or token == b"null" else token
            for token, value in zip(found, values.tolist(), strict=True)
        ]
    return found


def encode_time(time: int) -> str:
    """Return milliseconds as seconds: 1.5 s are 1.500."""
    sign, time = ("-", -time) if time < 0 else ("", time)
    whole, rest = divmod(time, 1000)
    return f"{sign}{whole}.{rest:03}" if rest else f"{sign}{whole}"


def _spell_as_go(token: bytes, value: float) -> bytes:
    """Return a number with an exponent, or one that JSON lacks, as Go spells it."""
    if token == b"null":
        return format_number(value).encode()
    mantissa, _, power = token.partition(b"e")
    exponent = int(power)
    if not -7 < exponent < 21:
        return b"%be%b" % (mantissa, b"%+03d" % exponent)
    digits = mantissa.lstrip(b"-").replace(b".", b"")
    sign = b"-" if value < 0 else b""
    if exponent < 0:
        return b"%b0.%b%b" % (sign, b"0" * (-exponent - 1), digits)
    return sign + digits.ljust(exponent + 1, b"0")


def _warnings(texts: Sequence[str]) -> bytes:
    return b',"warnings":%b' % _json(list(texts)) if texts else b""


def _result(answer: QueryResult, at: int, limit: int | None) -> Iterator[bytes]:
    """Yield the JSON of the result, part by part."""
    if answer.kind == "string":
        yield b"[%b,%b]" % (encode_time(at).encode(), _json(make_printable(answer.text)))
    elif answer.kind == "scalar":  # which Prometheus never gives an exponent
        yield b'[%b,"%b"]' % (
            encode_time(at).encode(),
            format_number(float(answer.series[0].values[0])).encode(),
        )
    else:
        chosen = answer.series[:limit]
        yield b"["
        yield from _vector(chosen) if answer.kind == "vector" else _lines(chosen)
        yield b"]"


def _vector(chosen: Sequence[ResultSeries]) -> Iterator[bytes]:
    before = b""
    for series, point in zip(chosen, _points(chosen), strict=True):
        yield b'%b{"metric":%b,"value":%b}' % (before, _labels(series.labels), point)
        before = b","


def _points(series: Sequence[ResultSeries]) -> list[bytes]:
    if not series:
        return []
    values = numbers(np.concatenate([one.values for one in series]))
    moments = {time: encode_time(time).encode() for time in {int(one.times[0]) for one in series}}
    times = [moments[int(one.times[0])] for one in series]
    return [b'[%b,"%b"]' % point for point in zip(times, values, strict=True)]


def _lines(all_series: Iterable[ResultSeries]) -> Iterator[bytes]:
    frames: dict[bytes, _Frame] = {}
    before = b""
    for times, some in _sharing(all_series):
        key = times.tobytes()
        frame = frames.get(key)
        if frame is None:
            if len(frames) >= MAX_FRAMES:
                frames.clear()
            frame = frames[key] = _Frame(times)
        texts = frame.fill(np.stack([series.values for series in some]))
        for series, text in zip(some, texts, strict=True):
            yield b'%b{"metric":%b,"values":[' % (before, _labels(series.labels))
            yield text
            yield b'"]]}'
            before = b","


def _sharing(all_series: Iterable[ResultSeries]) -> Iterator[tuple[Times, list[ResultSeries]]]:
    """Yield series that follow one another and have the same times, a few at a time."""
    some: list[ResultSeries] = []
    for series in all_series:
        if some and (series.times is not some[0].times or len(some) >= BATCH_SERIES):
            yield some[0].times, some
            some = []
        some.append(series)
    if some:
        yield some[0].times, some


class _Frame:
    """The text around the values of series that share their times."""

    def __init__(self, times: Times) -> None:
        self._between = _between(times)
        # Each text with zeros behind it, up to the longest; then room for the digits of a small number.
        longest = max(map(len, self._between))
        texts = np.array(self._between, dtype=f"S{-(-longest // 4) * 4}").view(np.uint32)
        texts = texts.reshape(len(times), -1)
        self._cells = np.hstack([texts, np.zeros((len(times), 1), dtype=np.uint32)])

    def fill(self, values: Floats) -> Iterator[bytes]:
        """Yield the text with the values of each series in it."""
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
        # Bits are compared because -0 is spelled otherwise than 0.
        small = whole.astype(np.float64).view(np.uint64) == values.view(np.uint64)
        small &= whole.view(np.uint64) < len(DIGITS)
        for row, is_small in enumerate(small.all(axis=1).tolist()):
            if is_small:
                self._cells[:, -1] = DIGITS[whole[row]]
                yield self._cells.tobytes().translate(None, b"\0")
                continue
            parts = [b""] * (2 * len(self._between))
            parts[0::2] = self._between
            parts[1::2] = numbers(values[row])
            yield b"".join(parts)


def _between(times: Times) -> list[bytes]:
    """Return what stands before each value: the end of the point before, and the time."""
    texts = [f'"],[{encode_time(time)},"'.encode() for time in times.tolist()]
    return [texts[0].removeprefix(b'"],'), *texts[1:]]


def _labels(labels: Mapping[str, str]) -> bytes:
    try:
        return _sorted_json(dict(labels))
    except UnicodeEncodeError:
        return _sorted_json({make_printable(name): make_printable(value) for name, value in labels.items()})


def _truncation(count: int, limit: int | None) -> tuple[str, ...]:
    return (TRUNCATED,) if limit is not None and count > limit else ()
