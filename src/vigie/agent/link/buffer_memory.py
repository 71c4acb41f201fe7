"""Memory used by buffered entries: their values, and tables that nothing else uses."""

from __future__ import annotations

from vigie.agent.link.entries import EncodedFrame, Entry, estimate_size
from vigie.model import Table

BYTES_PER_SERIES = 350  # of one series in a table: labels and tuples, measured


def estimate_names(table: Table) -> int:
    return BYTES_PER_SERIES * len(table.series)


class BufferMemory:
    """Counts each table once. The newest table of a source is in memory anyway and counts nothing."""

    def __init__(self) -> None:
        self.bytes = 0
        self._references: dict[
            int, int
        ] = {}  # entries per table, by id(); they keep the table, so ids stay unique
        self._newest: dict[str, Table] = {}
        self._charged: dict[int, int] = {}

    def add(self, entry: Entry) -> None:
        self.bytes += estimate_size(entry)
        for table in _tables(entry):
            self._track(table)
            self._references[id(table)] = self._references.get(id(table), 0) + 1

    def remove(self, entry: Entry) -> None:
        """Subtract an entry."""
        self.bytes -= estimate_size(entry)
        for table in _tables(entry):
            self._references[id(table)] -= 1
            if not self._references[id(table)]:
                del self._references[id(table)]
                self.bytes -= self._charged.pop(id(table), 0)

    def _track(self, table: Table) -> None:
        before = self._newest.get(table.source)
        if before is table:
            return
        self._newest[table.source] = table
        if before is not None and id(before) in self._references and id(before) not in self._charged:
            self._charged[id(before)] = estimate_names(before)
            self.bytes += estimate_names(before)


def _tables(entry: Entry) -> list[Table]:
    return [table for table, _ in entry.parts] if isinstance(entry, EncodedFrame) else []
