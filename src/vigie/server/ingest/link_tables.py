"""The tables of the links: what many nodes have alike is kept once."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from sys import getsizeof
from typing import NamedTuple

from vigie.model import Table
from vigie.model.node import normalize_pci_bus_id
from vigie.model.table import Series
from vigie.server.ingest.metadata import MetadataCache, families_of
from vigie.server.staleness.activity import JOB
from vigie.wire import table_codec
from vigie.wire.messages import RELAYED_PREFIX, DeltaMessage, MalformedMessageError, TableMessage
from vigie.wire.table_codec import TableDelta

GPU_INFO = "vigie_gpu_info"
EXPORTER = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_TABLE_BYTES = 256 << 20  # memory of the tables of all connections
MAX_LINK_TABLE_BYTES = 64 << 20  # of one connection: about 200,000 series
BYTES_PER_SERIES = 120  # beside the values of its labels, measured
BYTES_PER_PLACE = 8  # of a series that another table has, too
MAX_PLANS = 16  # of one connection: not every table comes with every frame


def job_of(source: str) -> str:
    """Return the job of a table by its source, or raise Malformed."""
    if not source.startswith(RELAYED_PREFIX):
        return JOB
    job = source[len(RELAYED_PREFIX) :].partition(":")[0]  # the port follows where there may be several
    if job == JOB or not EXPORTER.fullmatch(job):
        raise MalformedMessageError(f"{source[:80]!r} names no exporter")
    return job


def estimate_bytes(series: tuple[Series, ...]) -> int:
    """Estimate the memory of a table's names."""
    return sum(BYTES_PER_SERIES + 8 * len(values) + sum(map(getsizeof, values)) for _, values in series)


class SharedLayout:
    """Series that equal bytes brought, and how many tables have them."""

    def __init__(self, series: tuple[Series, ...]) -> None:
        self.series, self.size, self.users = series, estimate_bytes(series), 0


class SharedTables:
    """Series by the bytes that brought them, so that a thousand equal nodes cost one.

    The memory of all tables is bounded; layouts that no table has stay as long as there is room.
    """

    def __init__(self, most: int = MAX_TABLE_BYTES) -> None:
        self.described = MetadataCache()  # what the tables tell of their metrics
        self.bytes = 0
        self._most = most
        self._kept: OrderedDict[bytes, SharedLayout] = OrderedDict()
        self._lock = threading.Lock()  # held while decoding, too: one large layout at a time is enough

    def layout(self, data: bytes) -> SharedLayout:
        """Return the series of an encoded layout, or raise MalformedMessageError."""
        key = hashlib.blake2b(data, digest_size=16).digest()
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                found = SharedLayout(table_codec.decode_layout(data))
                self._make_room(found.size)
                self.described.take(families_of({metric for metric, _ in found.series}))
                self.bytes += found.size
            self._kept[key] = found
            self._kept.move_to_end(key)
            return found

    def hold(self, layout: SharedLayout, private: int) -> None:
        """Count a table with a layout, and bytes of its own."""
        with self._lock:
            self._make_room(private)
            layout.users += 1
            self.bytes += private

    def let_go(self, layout: SharedLayout, private: int) -> None:
        """Count a table no more."""
        with self._lock:
            layout.users -= 1
            self.bytes -= private

    def _make_room(self, size: int) -> None:
        if self.bytes + size <= self._most:
            return
        unused = [key for key, kept in self._kept.items() if not kept.users]
        while unused and self.bytes + size > self._most:
            self.bytes -= self._kept.pop(unused.pop(0)).size
        if self.bytes + size > self._most:
            raise MalformedMessageError(f"the tables of all nodes take more than {self._most >> 20} MB")


class FrameLayout(NamedTuple):
    """What is known of every frame with the same tables: the bytes of each, and the tables of each job."""

    sizes: list[int]
    jobs: dict[str, list[tuple[int, Table]]]  # each with its place in the frame


class _Known(NamedTuple):
    """A table, the layout it began with, and the bytes that only it takes."""

    table: Table
    layout: SharedLayout
    private: int

    @property
    def size(self) -> int:
        return self.layout.size + self.private


class LinkTables:
    """The tables of one connection, by their numbers."""

    def __init__(self, alike: SharedTables, ours: frozenset[str], most: int = MAX_LINK_TABLE_BYTES) -> None:
        self._alike, self._ours, self._most = alike, ours, most
        self._tables: dict[int, _Known] = {}
        self._plans: dict[tuple[int, ...], FrameLayout] = {}
        self.bytes = 0
        self._closed = False
        self._lock = threading.Lock()  # a table may still be decoded when its connection closes

    def close(self) -> None:
        """Give back the memory of all tables."""
        with self._lock:
            self._closed = True
            self._plans.clear()
            while self._tables:
                self._drop(next(iter(self._tables)))

    def __getitem__(self, number: int) -> Table:
        """Return a table, or raise Malformed."""
        try:
            return self._tables[number].table
        except KeyError:
            raise MalformedMessageError(f"table {number} was not announced") from None

    def plan(self, numbers: tuple[int, ...]) -> FrameLayout:
        """Return what is known of frames with these tables, or raise Malformed."""
        plan = self._plans.get(numbers)
        if plan is None:
            tables = [self[number] for number in numbers]
            plan = FrameLayout([8 * len(table.series) for table in tables], {})
            for place, table in enumerate(tables):
                if table.source not in self._ours:
                    plan.jobs.setdefault(job_of(table.source), []).append((place, table))
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            self._plans[numbers] = plan
        return plan

    def cost(self, message: TableMessage | DeltaMessage) -> int:
        """Tell how many bytes have to be worked through to learn a table."""
        if isinstance(message, TableMessage):
            return len(message.layout)
        base = self._tables.get(message.base)
        lists = len(message.places) + len(message.ended) + (len(base.table.series) if base else 0)
        return len(message.added) + BYTES_PER_PLACE * lists

    def announce(self, message: TableMessage | DeltaMessage) -> Table:
        """Store a table and return it, or raise MalformedMessageError."""
        with self._lock:
            known = self._whole(message) if isinstance(message, TableMessage) else self._changed(message)
            if self._closed:
                raise MalformedMessageError("the connection was closed")
            before = self._tables.get(message.number)
            if self.bytes + known.size - (before.size if before else 0) > self._most:
                raise MalformedMessageError(f"the tables of this node take more than {self._most >> 20} MB")
            self._alike.hold(known.layout, known.private)
            self.bytes += known.size
            if before:
                self._drop(message.number)
            self._plans.clear()
            self._tables[message.number] = known
            return known.table

    def _whole(self, message: TableMessage) -> _Known:
        layout = self._alike.layout(message.layout)
        private = BYTES_PER_PLACE * len(layout.series)
        return _Known(Table(message.source, message.version, layout.series), layout, private)

    def _changed(self, message: DeltaMessage) -> _Known:
        base = self._tables.get(message.base)
        if base is None:
            raise MalformedMessageError(f"table {message.base} was not announced")
        added = self._alike.layout(message.added)
        change = TableDelta(added.series, message.places, message.ended)
        series = table_codec.apply_delta(base.table.series, change)
        private = base.private + added.size + BYTES_PER_PLACE * len(message.places)
        if private > base.layout.size:  # much of it may have ended since
            private = min(private, estimate_bytes(series) + BYTES_PER_PLACE * len(series))
        return _Known(Table(base.table.source, message.version, series), base.layout, private)

    def _drop(self, number: int) -> None:
        known = self._tables.pop(number)
        self.bytes -= known.size
        self._alike.let_go(known.layout, known.private)


def gpus_by_pci_bus_id(table: Table) -> dict[str, str]:
    """Return the indexes of the GPUs that a table describes."""
    return {
        normalize_pci_bus_id(labels["pci_bus_id"]): labels["gpu"]
        for metric, values in table.series
        if metric.name == GPU_INFO
        for labels in [dict(zip(metric.labels, values, strict=True))]
        if labels.get("pci_bus_id") and labels.get("gpu")
    }
