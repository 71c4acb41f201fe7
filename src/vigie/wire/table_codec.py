"""Encodes tables: metrics once, series by metric number, later versions as differences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from vigie.model import Metric
from vigie.model.table import Series
from vigie.wire.messages import DECODE_ERRORS, MalformedMessageError

# Checked before anything is decoded: a few bytes of a message may stand for hundreds in memory.
MAX_SERIES = 250_000
_LabelTexts = Annotated[tuple[str, ...], Meta(max_length=256)]


class _Layout(Struct, array_like=True):
    metrics: Annotated[list[tuple[str, str, str, _LabelTexts]], Meta(max_length=MAX_SERIES)]
    series: Annotated[list[tuple[int, _LabelTexts]], Meta(max_length=MAX_SERIES)]


class TableDelta(NamedTuple):
    """The difference between two tables."""

    added: tuple[Series, ...]
    places: list[int]
    ended: list[int]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Layout)


def encode_layout(series: Iterable[Series]) -> bytes:
    numbers: dict[Metric, int] = {}
    rows = [(numbers.setdefault(metric, len(numbers)), values) for metric, values in series]
    return _encoder.encode(_Layout([(m.name, m.kind, m.help, m.labels) for m in numbers], rows))


def decode_layout(data: bytes) -> tuple[Series, ...]:
    """Return the series, or raise MalformedMessageError."""
    try:
        layout = _decoder.decode(data)
    except DECODE_ERRORS as error:
        raise MalformedMessageError(f"invalid layout: {error}") from None
    metrics = [Metric(*metric) for metric in layout.metrics]
    if any(not 0 <= number < len(metrics) for number, _ in layout.series):
        raise MalformedMessageError("layout refers to an unknown metric")
    for number, values in layout.series:
        if len(values) != len(metrics[number].labels):
            raise MalformedMessageError(
                f"{metrics[number].name} has labels {metrics[number].labels}, not {values}"
            )
    return tuple((metrics[number], values) for number, values in layout.series)


def diff_tables(old: tuple[Series, ...], new: tuple[Series, ...]) -> TableDelta | None:
    """Return the difference, or None if sending the whole table is about as short."""
    before, after = set(old), set(new)
    kept = [series for series in old if series in after]
    if len(kept) * 2 < len(new) or kept != [series for series in new if series in before]:
        return None
    places = [place for place, series in enumerate(new) if series not in before]
    ended = [place for place, series in enumerate(old) if series not in after]
    return TableDelta(tuple(new[place] for place in places), places, ended)


def apply_delta(old: tuple[Series, ...], change: TableDelta) -> tuple[Series, ...]:
    """Return the new table, or raise MalformedMessageError."""
    gone = set(change.ended)
    kept = iter([series for place, series in enumerate(old) if place not in gone])
    added = dict(zip(change.places, change.added, strict=False))
    length = len(old) - len(gone) + len(added)
    fits = len(change.places) == len(change.added) == len(added) and len(gone) == len(change.ended)
    if not fits or not all(0 <= p < length for p in added) or not all(0 <= p < len(old) for p in gone):
        raise MalformedMessageError("delta does not match its table")
    return tuple(added[place] if place in added else next(kept) for place in range(length))
