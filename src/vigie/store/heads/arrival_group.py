"""Groups of series that arrive together: which series is in which column of which stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from vigie.model.nan import STALE_BITS
from vigie.store.compression.codec import Floats, absent, bits
from vigie.store.heads.head import Head
from vigie.store.heads.stream import BEFORE_ALL, Stream
from vigie.store.series.layout import Key, Layouts, Target

JUDGED_EVERY = 16  # rows
ENDED_PART = 8  # a group is rebuilt when one in so many of its series has ended


class Member:
    """A series, and its column in a group while it has one."""

    __slots__ = ("column", "group", "key", "parted", "target")

    def __init__(self, target: Target, key: Key) -> None:
        self.target, self.key = target, key
        self.group: ArrivalGroup | None = None
        self.column = 0
        self.parted = 0  # how often it was removed from a group for arriving at other times


class ArrivalGroup:
    """The members of one stream, ordered by key, so that similar targets share a layout."""

    def __init__(self, stream: Stream, layouts: Layouts) -> None:
        self.stream = stream
        self.seats: list[Member] = []
        self.layout = layouts.of(())
        self.latest = BEFORE_ALL  # last time at which one of its series arrived
        self.is_open = True  # to new series
        self._layouts = layouts
        self._judged = BEFORE_ALL
        self._ended: set[Member] = set()  # members whose last sample is a stale marker

    def take(self, seats: Iterable[Member]) -> None:
        seats = list(seats)
        for before in {seat.group for seat in seats if seat.group is not None}:
            before.dismiss([seat for seat in seats if seat.group is before])
        for seat in seats:
            seat.group = self
        self.seats += seats
        self._arrange()

    def dismiss(self, seats: Iterable[Member]) -> None:
        """Remove members from the group."""
        for seat in seats:
            seat.group = None
        self.seats = [seat for seat in self.seats if seat.group is self]
        self._ended = {seat for seat in self._ended if seat.group is self}
        self._arrange()

    def note(self, columns: Sequence[int], last: Floats) -> None:
        """Track which members ended or came back, by their last values."""
        stale = bits(last) == np.uint64(STALE_BITS)
        if self._ended or stale.any():
            seats = [self.seats[column] for column in columns]
            self._ended.difference_update(seats)
            self._ended.update([seats[i] for i in np.flatnonzero(stale).tolist()])

    def judge(self) -> None:
        """Remove members that ended, and those that mostly arrive at other times than the rest."""
        if len(self._ended) * ENDED_PART > len(self.seats):
            self.dismiss(list(self._ended))
        head = self.stream.pieces[-1] if self.stream.pieces else None
        if not isinstance(head, Head) or head.rows % JUDGED_EVERY or head.end == self._judged:
            return
        self._judged = head.end
        if len(self.seats) <= 1 or not head.sparse:
            return
        places = np.array([head.layout.column.get(seat.key, -1) for seat in self.seats], dtype=np.intp)
        there = ~absent(head.values[:, places]) & (places >= 0)
        count, first = there.sum(axis=0), there.argmax(axis=0)
        leaving = [self.seats[i] for i in np.flatnonzero(2 * count < head.rows - first).tolist()]
        for i in np.flatnonzero((count > 0) & (2 * count < head.rows - first)).tolist():
            self.seats[i].parted += self.seats[i] not in self._ended
        if leaving:
            self.dismiss(leaving)

    def _arrange(self) -> None:
        self.seats.sort(key=_key)
        self.layout = self._layouts.of(tuple([seat.key for seat in self.seats]))
        for column, seat in enumerate(self.seats):
            seat.column = column


def _key(seat: Member) -> Key:
    return seat.key
