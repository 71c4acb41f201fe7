"""Tables are made known once, in bounds that hold however often they change."""

from __future__ import annotations

import logging

import pytest

from vigie.agent.link.entries import EncodedFrame, pack_values
from vigie.agent.link.sent_tables import MAX_VERSIONS, SentTables
from vigie.model import Table, gauge
from vigie.server.ingest.link_tables import LinkTables, SharedTables, estimate_bytes
from vigie.wire import messages
from vigie.wire.messages import MAX_MESSAGE, DeltaMessage, FrameMessage
from vigie.wire.messages import TableMessage as TableMessage

WORK = gauge("work", "What is done.", "pid")
LOAD = Table("load", 1, ((gauge("load", "A load."), ()),))


def version(number: int, size: int = 20) -> Table:
    """Return the table of some processes, of which another has gone and come each time."""
    return Table("processes", number, tuple((WORK, (str(pid),)) for pid in range(number, number + size)))


def values(*tables: Table) -> EncodedFrame:
    return EncodedFrame(1000, 5, tuple((table, pack_values([1.0] * len(table.series))) for table in tables))


class Heard:
    """The other side: it takes what is sent, and tells what each frame is about."""

    def __init__(self) -> None:
        self.shared = SharedTables()
        self.tables = LinkTables(self.shared, frozenset(("ours",)))
        self.numbers: set[int] = set()
        self.kinds: list[type] = []
        self.sources: list[list[Table]] = []

    def take(self, announced: SentTables, entry: EncodedFrame, sequence: int) -> None:
        for data in announced.encode_entry(entry, sequence):
            message = messages.decode(data)
            self.kinds.append(type(message))
            if isinstance(message, TableMessage | DeltaMessage):
                self.numbers.add(message.number)
                self.tables.announce(message)
            elif isinstance(message, FrameMessage):
                self.sources.append([self.tables[number] for number, _ in message.parts])


def test_table_that_changes_for_ever_takes_few_numbers_and_little_memory_over_there() -> None:
    announced, heard = SentTables(), Heard()
    for number in range(1, 500):
        heard.take(announced, values(version(number), LOAD), number)
    assert len(heard.numbers) == MAX_VERSIONS + 1
    # The layout that all began with, and what each version has beside it.
    assert heard.tables.bytes < (2 * MAX_VERSIONS + 1) * estimate_bytes(version(1).series)
    assert heard.kinds.count(TableMessage) == 2


def test_what_waited_and_what_is_new_are_told_apart_in_whatever_order_they_go() -> None:
    announced, heard = SentTables(), Heard()
    old = [version(number) for number in range(1, 40)]
    for sequence, place in enumerate([0, 30, 1, 31, 0, 2, 3, 4, 5, 6, 31, 0, 38], 1):
        heard.take(announced, values(old[place]), sequence)
        assert [table.series for table in heard.sources[-1]] == [old[place].series]


def test_table_that_no_message_can_hold_is_left_out_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    announced, heard = SentTables(), Heard()
    label = "x" * (MAX_MESSAGE // 4)
    huge = Table("exporter/cadvisor", 1, tuple((WORK, (f"{n}{label}",)) for n in range(5)))
    with caplog.at_level(logging.WARNING):
        for sequence in (1, 2):
            heard.take(announced, values(huge, LOAD), sequence)
    assert [[table.source for table in tables] for tables in heard.sources] == [["load"], ["load"]]
    assert sum("cadvisor is not sent" in message for message in caplog.messages) == 1
