"""Walks over what a selector fits, stream by stream, so that only a few are unpacked at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial

from vigie.query.storage import Group, Load, Matcher
from vigie.store.blocks import Blocks
from vigie.store.index import Found, Index, Matches, Target
from vigie.store.reading import disjoint, fetch_group, pieces_of, share_names


class Scan:
    """One question; the store is locked while bytes are fetched, and not while they are unpacked."""

    def __init__(
        self, guard: AbstractContextManager[object], index: Index, blocks: Blocks, start: int, end: int
    ) -> None:
        self._guard, self._index, self._blocks = guard, index, blocks
        self._start, self._end = start, end
        self._matches = Matches()

    def loads(self, matchers: Sequence[Matcher]) -> Iterator[Load]:
        """Yield what reads the groups; each series is in one of them only."""
        targets: dict[Target, list[Found]] = {}
        with self._guard:
            for found in self._index.find(matchers):
                targets.setdefault(found.stream.name.target, []).append(found)
        shapes = {tuple(name for name, _ in target) for target in targets}
        if len(shapes) > 1:  # a label may stand on the target here, and on the series there
            everything = [found for some in targets.values() for found in some]
            yield from map(_ready, disjoint(self._groups(everything)))
            return
        for some in targets.values():
            if len(some) == 1:
                yield self._fetched(some[0])
            else:
                groups = self._groups(some)
                yield from map(_ready, disjoint(groups) if share_names(groups) else groups)

    def _fetched(self, found: Found) -> Load:
        with self._guard:
            pieces = pieces_of(found.stream, self._blocks, self._start, self._end)
            return fetch_group(found, pieces, self._matches, self._start, self._end)

    def _groups(self, some: Sequence[Found]) -> list[Group]:
        return [group for found in some if (group := self._fetched(found)()) is not None]


def _ready(group: Group) -> Load:
    return partial(_same, group)


def _same(group: Group) -> Group | None:
    return group
