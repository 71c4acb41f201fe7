"""Groups of series that arrive together: which series is in which column of which stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from vigie.model.nan import STALE_BITS
from vigie.store.compression.codec import Floats, absent, bits
from vigie.store.heads.head import Head
from vigie.store.heads.stream import BEFORE_ALL, Stream
from vigie.store.series.layout import Key, Layouts, Target

REGROUP_EVERY_ROWS = 16  # rows
MAX_ENDED_SHARE = 8  # a group is rebuilt when one in so many of its series has ended


class Member:
    """A series, and its column in a group while it has one."""

    __slots__ = ("column", "group", "key", "splits", "target")

    def __init__(self, target: Target, key: Key) -> None:
        self.target, self.key = target, key
        self.group: ArrivalGroup | None = None
        self.column = 0
        self.splits = 0  # how often it was removed from a group for arriving at other times


class ArrivalGroup:
    """The members of one stream, ordered by key, so that similar targets share a layout."""

    def __init__(self, stream: Stream, layouts: Layouts) -> None:
        self.stream = stream
        self.members: list[Member] = []
        self.layout = layouts.of(())
        self.latest = BEFORE_ALL  # last time at which one of its series arrived
        self.is_open = True  # to new series
        self._layouts = layouts
        self._regrouped_at = BEFORE_ALL
        self._ended: set[Member] = set()  # members whose last sample is a stale marker

    def add(self, members: Iterable[Member]) -> None:
        members = list(members)
        for before in {member.group for member in members if member.group is not None}:
            before.remove([member for member in members if member.group is before])
        for member in members:
            member.group = self
        self.members += members
        self._arrange()

    def remove(self, members: Iterable[Member]) -> None:
        for member in members:
            member.group = None
        self.members = [member for member in self.members if member.group is self]
        self._ended = {member for member in self._ended if member.group is self}
        self._arrange()

    def track_ended(self, columns: Sequence[int], last: Floats) -> None:
        """Track which members ended or came back, by their last values."""
        stale = bits(last) == np.uint64(STALE_BITS)
        if self._ended or stale.any():
            members = [self.members[column] for column in columns]
            self._ended.difference_update(members)
            self._ended.update([members[i] for i in np.flatnonzero(stale).tolist()])

    def regroup(self) -> None:
        """Remove members that ended, and those that mostly arrive at other times than the rest."""
        if len(self._ended) * MAX_ENDED_SHARE > len(self.members):
            self.remove(list(self._ended))
        head = self.stream.pieces[-1] if self.stream.pieces else None
        if not isinstance(head, Head) or head.rows % REGROUP_EVERY_ROWS or head.end == self._regrouped_at:
            return
        self._regrouped_at = head.end
        if len(self.members) <= 1 or not head.sparse:
            return
        columns = np.array([head.layout.column.get(member.key, -1) for member in self.members], dtype=np.intp)
        present = ~absent(head.values[:, columns]) & (columns >= 0)
        count, first = present.sum(axis=0), present.argmax(axis=0)
        leaving = [self.members[i] for i in np.flatnonzero(2 * count < head.rows - first).tolist()]
        for i in np.flatnonzero((count > 0) & (2 * count < head.rows - first)).tolist():
            self.members[i].splits += self.members[i] not in self._ended
        if leaving:
            self.remove(leaving)

    def _arrange(self) -> None:
        self.members.sort(key=_key)
        self.layout = self._layouts.of(tuple([member.key for member in self.members]))
        for column, member in enumerate(self.members):
            member.column = column


def _key(member: Member) -> Key:
    return member.key
