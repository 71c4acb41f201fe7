"""The tables that the other side of one connection knows, by their numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from vigie.agent.link import layouts
from vigie.agent.link.entries import Entry, Values, message_of
from vigie.agent.link.messages import MAX_TABLES, Delta, Message
from vigie.agent.link.messages import Table as TableMessage
from vigie.model import Table


class _Known(NamedTuple):
    table: Table
    number: int


class Announced:
    """Gives each table a number at its first use; when all are in use, the one longest unused goes."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()  # by id(); the table is kept, so ids stay
        self._newest: dict[str, Table] = {}

    def to_send(self, entry: Entry, sequence: int) -> Iterator[Message]:
        """Yield what has to be sent for an entry: tables not known yet, then the entry itself."""
        if isinstance(entry, Values):
            for table, _ in entry.parts:
                if id(table) in self._known:
                    self._known.move_to_end(id(table))
                else:
                    yield self._announced(table)
            number = {id(table): self._known[id(table)].number for table, _ in entry.parts}
            yield message_of(entry, sequence, number)
        else:
            yield message_of(entry, sequence, {})

    def _announced(self, table: Table) -> Message:
        number = len(self._known)
        if number >= MAX_TABLES:
            _, (gone, number) = self._known.popitem(last=False)
            if self._newest.get(gone.source) is gone:
                del self._newest[gone.source]
        base = self._newest.get(table.source)
        self._known[id(table)] = _Known(table, number)
        self._newest[table.source] = table
        if base is not None and (change := layouts.difference(base.series, table.series)):
            added = layouts.pack(change.added)
            origin = self._known[id(base)].number
            return Delta(number, origin, table.version, added, change.places, change.ended)
        return TableMessage(number, table.source, table.version, layouts.pack(table.series))
