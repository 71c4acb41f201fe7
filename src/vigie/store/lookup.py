"""Answers about labels, without reading a value: a chunk that reaches into the time span counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vigie.query.storage import Labels
from vigie.store.index import Found, Matches
from vigie.store.layout import Columns, Layout


class Fit(NamedTuple):
    """Columns of a layout that a stream has in a time span, and that fit."""

    found: Found
    layout: Layout
    columns: Columns


def fits(found: Iterable[Found], start: int, end: int) -> Iterator[Fit]:
    """Yield what fits, each layout once a stream."""
    matches = Matches()
    for one in found:
        for layout in _layouts(one, start, end):
            columns = matches.columns(layout, one.conditions)
            if len(columns):
                yield Fit(one, layout, columns)


def series(all_fits: Iterable[Fit]) -> list[Labels]:
    """Return the label sets, each once."""
    seen: dict[frozenset[tuple[str, str]], Labels] = {}
    for fit in all_fits:
        for i in fit.columns:
            labels = {**fit.found.target, **fit.layout.labels[i]}
            seen.setdefault(frozenset(labels.items()), labels)
    return list(seen.values())


def label_names(all_fits: Iterable[Fit]) -> list[str]:
    """Return the sorted names of the labels."""
    names: set[str] = set()
    asked: set[tuple[int, int]] = set()
    for fit in all_fits:
        names |= fit.found.target.keys()
        if (key := (id(fit.layout), id(fit.columns))) not in asked:
            asked.add(key)
            names |= fit.layout.names_of_labels(fit.columns)
    return sorted(names)


def label_values(name: str, all_fits: Iterable[Fit]) -> list[str]:
    """Return the sorted values of a label."""
    values: set[str] = set()
    asked: set[tuple[int, int]] = set()
    for fit in all_fits:
        if name in fit.found.target:
            values.add(fit.found.target[name])
        elif (key := (id(fit.layout), id(fit.columns))) not in asked:
            asked.add(key)
            values |= fit.layout.values_of(name, fit.columns)
    return sorted(values)


def _layouts(found: Found, start: int, end: int) -> list[Layout]:
    stream = found.stream
    stored = [layout for layout, (first, last) in stream.spans.items() if first <= end and last >= start]
    in_memory = [piece.layout for piece in stream.pieces if piece.start <= end and piece.end >= start]
    return list(dict.fromkeys(stored + in_memory))
