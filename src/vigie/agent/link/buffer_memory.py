"""How much memory entries take that wait: their values, and the tables that they alone still use."""

from __future__ import annotations

from vigie.agent.link.entries import EncodedFrame, Entry, size
from vigie.model import Table

A_SERIES = 350  # bytes of a series in a table: its labels and their tuples, as measured


def label_names(table: Table) -> int:
    """Return about how much memory the names of a table take."""
    return A_SERIES * len(table.series)


class BufferMemory:
    """Counts each table once; the newest of a source is there anyway, and costs nothing here."""

    def __init__(self) -> None:
        self.bytes = 0
        self._users: dict[int, int] = {}  # entries of a table, by its id(); they keep it, so ids stay
        self._newest: dict[str, Table] = {}
        self._counted: dict[int, int] = {}

    def add(self, entry: Entry) -> None:
        self.bytes += size(entry)
        for table in _tables(entry):
            self._renew(table)
            self._users[id(table)] = self._users.get(id(table), 0) + 1

    def remove(self, entry: Entry) -> None:
        """Take an entry out of account."""
        self.bytes -= size(entry)
        for table in _tables(entry):
            self._users[id(table)] -= 1
            if not self._users[id(table)]:
                del self._users[id(table)]
                self.bytes -= self._counted.pop(id(table), 0)

    def _renew(self, table: Table) -> None:
        before = self._newest.get(table.source)
        if before is table:
            return
        self._newest[table.source] = table
        if before is not None and id(before) in self._users and id(before) not in self._counted:
            self._counted[id(before)] = label_names(before)
            self.bytes += label_names(before)


def _tables(entry: Entry) -> list[Table]:
    return [table for table, _ in entry.parts] if isinstance(entry, EncodedFrame) else []
