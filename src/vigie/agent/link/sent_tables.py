"""Tables known to the server on one connection, by number."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from vigie.agent.link.entries import EncodedFrame, Entry, build_message
from vigie.model import Table
from vigie.wire import messages, table_codec
from vigie.wire.messages import MAX_MESSAGE, MAX_TABLES, DeltaMessage, Message, TableMessage

log = logging.getLogger(__name__)

MAX_VERSIONS = 4  # per source: the backlog alternates with live frames


class _SentTable(NamedTuple):
    table: Table
    number: int


class SentTables:
    """Assigns each table a number at its first use. The least recently used are reassigned."""

    def __init__(self) -> None:
        self._sent: OrderedDict[int, _SentTable] = (
            OrderedDict()
        )  # by id(); the table is kept, so ids stay unique
        self._newest: dict[str, Table] = {}
        self._skipped: set[str] = set()  # sources

    def encode_entry(self, entry: Entry, sequence: int) -> Iterator[bytes]:
        """Yield the messages for an entry: unknown tables, then the entry."""
        number: dict[int, int] = {}
        if isinstance(entry, EncodedFrame):
            for table, _ in entry.parts:
                if id(table) not in self._sent and (announcement := self._announce(table)):
                    yield announcement
                if id(table) in self._sent:
                    self._sent.move_to_end(id(table))
                    number[id(table)] = self._sent[id(table)].number
            entry = entry._replace(parts=tuple(part for part in entry.parts if id(part[0]) in number))
        yield messages.encode(build_message(entry, sequence, number))

    def _announce(self, table: Table) -> bytes | None:
        """Encode a table, or return None if it exceeds the size of a message."""
        number, gone = self._number(table.source)
        data = messages.encode(self._message(table, number))
        if len(data) > MAX_MESSAGE:
            self._log_too_large(table.source, len(data))
            return None
        if gone is not None:
            del self._sent[gone]
        self._sent[id(table)] = _SentTable(table, number)
        self._newest[table.source] = table
        return data

    def _number(self, source: str) -> tuple[int, int | None]:
        """Return a number for a new table, and the key of the table that loses it."""
        same = [key for key, known in self._sent.items() if known.table.source == source]
        if len(same) < MAX_VERSIONS and len(self._sent) < MAX_TABLES:
            return len(self._sent), None
        gone = same[0] if len(same) >= MAX_VERSIONS else next(iter(self._sent))
        return self._sent[gone].number, gone

    def _message(self, table: Table, number: int) -> Message:
        base = self._newest.get(table.source)
        known = self._sent.get(id(base))
        if base and known and (change := table_codec.diff_tables(base.series, table.series)):
            added = table_codec.encode_layout(change.added)
            return DeltaMessage(number, known.number, table.version, added, change.places, change.ended)
        return TableMessage(number, table.source, table.version, table_codec.encode_layout(table.series))

    def _log_too_large(self, source: str, size: int) -> None:
        if source not in self._skipped:
            self._skipped.add(source)
            log.warning(
                "source %s is not sent: its series names take %d bytes, the limit is %d",
                *(source, size, MAX_MESSAGE),
            )
