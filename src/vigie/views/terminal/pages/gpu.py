"""The GPU page: its health, its allocations, and the node's other GPUs."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import build_header
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import (
    PageEntry,
    PageRow,
    TerminalPage,
    build_link,
    section_row,
    table,
    text_row,
)
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.terminal.tables import Matches, format_measure
from vigie.views.text.style import CRITICAL
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.text_width import wrap
from vigie.views.text.times import clock, format_duration
from vigie.wire.api.pages import GpuPage
from vigie.wire.api.resources import EventRow
from vigie.wire.api.rows import Allocation, HealthRow

HOLDERS = (
    TableColumn("holder"),
    TableColumn("name", least=8, rank=1),
    TableColumn("user", least=6, rank=1),
    TableColumn("from"),
    TableColumn("for"),
)
HEALTH = (
    TableColumn("fact"),
    TableColumn("value"),
    TableColumn("state", tells=True),
    TableColumn("why", least=12, rank=1),
)


def build_page(page: GpuPage, _: Measure, matches: Matches, max_width: int) -> TerminalPage:
    info = page.info
    processes = "" if info.processes is None else f"{info.processes:g}"
    card = [("UUID", page.cell.uuid), ("driver", info.driver), ("pci_bus_id", info.pci_bus_id)]
    allocations = [one for one in page.holders if matches(one.kind, one.id, one.name, one.user)]
    rows: list[PageRow] = [*tables.incident_rows(page, matches, max_width)]
    rows += tables.gpu_rows("Now", [page.cell], max_width)
    rows += tables.fact_rows("Card", [*card, ("processes", processes)], max_width)
    rows += _xid_rows(page.health.xids, max_width)
    rows += _health_rows(page.health.facts, max_width)
    rows += _allocation_rows(allocations, page.at_ms, max_width)
    rows += tables.gpu_rows("Siblings", page.siblings, max_width)
    rows += tables.gpu_rows("The job's other GPUs", page.ranks, max_width)
    return TerminalPage(page.cell.model, build_header(page, max_width), tuple(rows), page.at_ms)


def _xid_rows(xids: list[EventRow], max_width: int) -> list[PageRow]:
    rows = [section_row("XIDs")] if xids else []
    for xid in xids:
        texts = wrap(f"{clock(xid.begin_ms)} {xid.what}", max(1, max_width - 2), "  ")
        rows += [
            text_row((TextSpan(text, CRITICAL),), f"xid:{len(rows) + n}", max_width)
            for n, text in enumerate(texts)
        ]
    return rows


def _health_rows(facts: list[HealthRow], max_width: int) -> list[PageRow]:
    entries = [
        PageEntry(
            [fact.label, _format_value(fact), fact.state, fact.why or "-"], f"fact:{fact.label}", "", fact.why
        )
        for fact in facts
    ]
    return [section_row("Health"), *table(HEALTH, entries, max_width)] if entries else []


def _format_value(fact: HealthRow) -> str:
    return fact.value if isinstance(fact.value, str) else format_measure(fact.value, fact.unit)


def _allocation_rows(allocations: list[Allocation], now_ms: int, max_width: int) -> list[PageRow]:
    entries = []
    for number, one in enumerate(allocations):
        holder = f"{one.kind} {one.id}"
        link = build_link("job", one.id) if one.kind == "job" else ""
        lasted = format_duration((one.to_ms or now_ms) - one.from_ms)
        cells = [holder, one.name or "-", one.user or "-", clock(one.from_ms), lasted]
        note = "" if one.to_ms else "holds it now"
        entries.append(PageEntry(cells, f"held:{number}:{holder}", link, note))
    return [section_row("Holders"), *table(HOLDERS, entries, max_width)] if entries else []
