"""The tables of the links: what many nodes have alike is kept once."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
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
MAX_LAYOUTS = 4096
MAX_SERIES = 1_000_000  # of all tables of one connection
MAX_PLANS = 16  # of one connection: not every table comes with every frame


def job_of(source: str) -> str:
    """Return the job of a table by its source, or raise Malformed."""
    if not source.startswith(RELAYED_PREFIX):
        return JOB
    job = source[len(RELAYED_PREFIX) :]
    if job == JOB or not EXPORTER.fullmatch(job):
        raise MalformedMessageError(f"{source[:80]!r} names no exporter")
    return job


class SharedTables:
    """Series by the bytes that brought them, so that a thousand equal nodes cost one."""

    def __init__(self, most: int = MAX_LAYOUTS) -> None:
        self._most = most
        self.described = MetadataCache()  # what the tables tell of their metrics
        self._kept: OrderedDict[bytes, tuple[Series, ...]] = OrderedDict()

    def series(self, layout: bytes) -> tuple[Series, ...]:
        """Return the series of a layout, or raise Malformed."""
        key = hashlib.blake2b(layout, digest_size=16).digest()
        found = self._kept.get(key)
        if found is None:
            found = table_codec.decode_layout(layout)
            self.described.take(families_of({metric for metric, _ in found}))
            if len(self._kept) >= self._most:
                self._kept.popitem(last=False)
        self._kept[key] = found
        self._kept.move_to_end(key)
        return found


class FrameLayout(NamedTuple):
    """What is known of every frame with the same tables: the bytes of each, and the tables of each job."""

    sizes: list[int]
    jobs: dict[str, list[tuple[int, Table]]]  # each with its place in the frame


class LinkTables:
    """The tables of one connection, by their numbers."""

    def __init__(self, alike: SharedTables, ours: str) -> None:
        self._alike, self._ours = alike, ours
        self._tables: dict[int, Table] = {}
        self._plans: dict[tuple[int, ...], FrameLayout] = {}
        self._series = 0

    def __getitem__(self, number: int) -> Table:
        """Return a table, or raise Malformed."""
        try:
            return self._tables[number]
        except KeyError:
            raise MalformedMessageError(f"table {number} was not announced") from None

    def plan(self, numbers: tuple[int, ...]) -> FrameLayout:
        """Return what is known of frames with these tables, or raise Malformed."""
        plan = self._plans.get(numbers)
        if plan is None:
            tables = [self[number] for number in numbers]
            plan = FrameLayout([8 * len(table.series) for table in tables], {})
            for place, table in enumerate(tables):
                if table.source != self._ours:
                    plan.jobs.setdefault(job_of(table.source), []).append((place, table))
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            self._plans[numbers] = plan
        return plan

    def announce(self, message: TableMessage | DeltaMessage) -> Table:
        """Store a table and return it, or raise MalformedMessageError."""
        self._plans.clear()
        if isinstance(message, TableMessage):
            table = Table(message.source, message.version, self._alike.series(message.layout))
        else:
            base = self[message.base]
            change = TableDelta(self._alike.series(message.added), message.places, message.ended)
            series = table_codec.apply_delta(base.series, change)
            table = Table(base.source, message.version, series)
        before = self._tables.get(message.number)
        self._series += len(table.series) - (len(before.series) if before else 0)
        if self._series > MAX_SERIES:
            raise MalformedMessageError(f"more than {MAX_SERIES} series")
        self._tables[message.number] = table
        return table


def gpus_by_pci_bus_id(table: Table) -> dict[str, str]:
    """Return the indexes of the GPUs that a table describes."""
    return {
        normalize_pci_bus_id(labels["pci_bus_id"]): labels["gpu"]
        for metric, values in table.series
        if metric.name == GPU_INFO
        for labels in [dict(zip(metric.labels, values, strict=True))]
        if labels.get("pci_bus_id") and labels.get("gpu")
    }
