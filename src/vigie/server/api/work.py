"""The work behind each question: a function of a storage that returns the body of the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from vigie.query.budget import Limits
from vigie.query.engine import LOOKBACK_MS, Answer, Engine
from vigie.query.functions.sorting import label_order
from vigie.query.storage import Labels, Listable, Matcher, Storage
from vigie.query.vectors import key_of
from vigie.server.api import encode
from vigie.server.api.body import Body, in_pieces, whole
from vigie.server.api.parameters import joined
from vigie.server.http import packed

EVERYTHING = (Matcher("__name__", "=~", ".+"),)


class Question(NamedTuple):
    """A query and how its answer is wanted; without a step it is asked at its end only."""

    query: str
    start: int
    end: int
    step: int | None = None
    lookback: int | None = None
    limit: int | None = None
    stats: bool = False


class Look(NamedTuple):
    """A look-up of labels or series: what fits any of the selectors in a time span."""

    selectors: Sequence[Sequence[Matcher]]
    start: int
    end: int
    limit: int | None = None


def answer(question: Question, gzip: bool, storage: Storage, limits: Limits) -> Body:
    """Return the body of the answer to a query."""
    begun = time.perf_counter()
    engine = Engine(storage, limits, lookback=question.lookback or LOOKBACK_MS)
    found = _asked(engine, question)
    taken = time.perf_counter() - begun
    stats = _stats(engine, taken) if question.stats else None
    body = in_pieces(encode.result(found, question.end, question.limit, stats))
    return packed(whole(body), gzip) if gzip else body


def series(look: Look, gzip: bool, storage: Storage, _: Limits) -> bytes:
    """Return the body with the label sets that fit."""
    found: dict[Any, Labels] = {}
    for matchers in look.selectors:
        for labels in _series(look, matchers, storage):
            found.setdefault(key_of(labels), labels)
    ordered = sorted(found.values(), key=label_order)
    return packed(encode.label_sets(ordered, look.limit), gzip)


def _series(look: Look, matchers: Sequence[Matcher], storage: Storage) -> list[Labels]:
    if look.limit is not None and isinstance(storage, Listable):
        return storage.some_series(matchers, look.start, look.end, look.limit + 1)  # one more, to say so
    return storage.series(matchers, look.start, look.end)


def label_names(look: Look, gzip: bool, storage: Storage, _: Limits) -> bytes:
    """Return the body with the names of labels."""
    return _words(look, gzip, lambda matchers: storage.label_names(matchers, look.start, look.end))


def label_values(name: str, look: Look, gzip: bool, storage: Storage, _: Limits) -> bytes:
    """Return the body with the values of a label."""
    return _words(look, gzip, lambda matchers: storage.label_values(name, matchers, look.start, look.end))


def _words(look: Look, gzip: bool, lookup: Callable[[Sequence[Matcher]], list[str]]) -> bytes:
    sets = [lookup(matchers) for matchers in look.selectors or [EVERYTHING]]
    return packed(encode.words(joined(sets), look.limit), gzip)


def _asked(engine: Engine, question: Question) -> Answer:
    if question.step is None:
        return engine.instant(question.query, question.end)
    return engine.range(question.query, question.start, question.end, question.step)


def _stats(engine: Engine, seconds: float) -> dict[str, Any]:
    return {
        "timings": {
            "evalTotalTime": seconds,
            "resultSortTime": 0,
            "queryPreparationTime": 0,
            "innerEvalTime": seconds,
            "execQueueTime": 0,
            "execTotalTime": seconds,
        },
        "samples": {"totalQueryableSamples": engine.budget.total, "peakSamples": engine.budget.peak},
    }
