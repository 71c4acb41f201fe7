"""/federate: the newest sample of every series that fits, as text for another Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from vigie.model import Metric, format_series
from vigie.model.nan import ABSENT_BITS, is_stale
from vigie.query.engine import LOOKBACK_MS
from vigie.query.functions.number_format import format_number
from vigie.query.limits import QueryLimits
from vigie.query.storage import Labels, Matcher, Storage
from vigie.query.vectors import Key, label_set_key
from vigie.server.http.responses import maybe_gzip
from vigie.store.series.layout import NAME

# Other letters than these are only for who asks for them; a line break would even begin a series of its own.
ODD_IN_NAME, ODD_IN_LABEL = re.compile(r"[^a-zA-Z0-9_:]|^[0-9]"), re.compile(r"[^a-zA-Z0-9_]|^[0-9]")


class NewestSamples(NamedTuple):
    labels: Labels
    time: int
    value: float


def federate(
    selectors: Sequence[Sequence[Matcher]], now: int, gzip: bool, storage: Storage, _: QueryLimits
) -> bytes:
    """Return the exposition of what fits and has not ended."""
    found: dict[Key, NewestSamples] = {}
    for matchers in selectors:
        for newest in _newest(storage, matchers, now):
            key = label_set_key(newest.labels)
            if key not in found or found[key].time < newest.time:
                found[key] = newest
    live = [newest for newest in found.values() if not is_stale(newest.value)]
    live.sort(key=lambda newest: (newest.labels.get(NAME, ""), sorted(newest.labels.items())))
    return maybe_gzip("".join(_text(live)).encode("utf-8", "replace"), gzip)


def _newest(storage: Storage, matchers: Sequence[Matcher], now: int) -> Iterator[NewestSamples]:
    for group in storage.select(matchers, now - LOOKBACK_MS, now):
        present = np.ascontiguousarray(group.values).view(np.uint64) != ABSENT_BITS
        last = present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)
        for row in np.flatnonzero(present.any(axis=1)).tolist():
            column = int(last[row])
            yield NewestSamples(group.labels[row], int(group.times[column]), float(group.values[row, column]))


@lru_cache(1024)
def _label(name: str) -> str:
    return ODD_IN_LABEL.sub("_", name)


def _text(found: Sequence[NewestSamples]) -> Iterator[str]:
    for known_as, family in groupby(found, key=lambda newest: newest.labels.get(NAME, "")):
        name = ODD_IN_NAME.sub("_", known_as)
        if not name:
            continue
        yield f"# TYPE {name} untyped\n"
        for labels, time, value in family:
            rest = {_label(key): text for key, text in sorted(labels.items()) if key != NAME}
            series = format_series(Metric(name, "untyped", "", tuple(rest)), tuple(rest.values()))
            if not rest.get("instance"):
                series = _of_no_instance(series)
            yield f"{series} {format_number(value)} {time}\n"


def _of_no_instance(series: str) -> str:
    """Return a series with an empty instance, as Prometheus gives it: else who scrapes it puts ours there."""
    name, brace, rest = series.partition("{")
    return f'{name}{{instance="",{rest}' if brace else f'{name}{{instance=""}}'
