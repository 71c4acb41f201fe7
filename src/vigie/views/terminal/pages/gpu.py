"""The GPU page: its health, who held it, and how its siblings do."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import opening
from vigie.views.terminal.json_object import JsonObject, route
from vigie.views.terminal.measures import ABSENT, Measure
from vigie.views.terminal.page import PageEntry, PageRow, TerminalPage, section_row, table, text_row
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.terminal.tables import Matches
from vigie.views.text.style import CRITICAL
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.text_width import wrap
from vigie.views.text.times import clock, format_duration
from vigie.views.text.units import format_quantity

HELD = (
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


def page(answer: JsonObject, _: Measure, matches: Matches, most: int) -> TerminalPage:
    now, cell, health = answer.number("at_ms"), answer.part("cell"), answer.part("health")
    rows: list[PageRow] = [*tables.incidents(answer, matches, most)]
    rows += tables.gpus("Now", [cell] if cell else [], most)
    rows += tables.facts("Card", _card(cell, answer.part("info")), most)
    rows += _xids(health.parts("xids"), most)
    rows += _health(health.parts("facts"), most)
    rows += _allocation_rows(
        [one for one in answer.parts("holders") if matches(*dict(one.pairs()).values())], now, most
    )
    rows += tables.gpus("Siblings", answer.parts("siblings"), most)
    rows += tables.gpus("The job's other GPUs", answer.parts("ranks"), most)
    return TerminalPage(cell.text("model"), opening(answer, most), tuple(rows), now)


def _card(cell: JsonObject, info: JsonObject) -> list[tuple[str, str]]:
    told_above = ("node", "gpu", "uuid", "model", "vendor")
    return [("UUID", cell.text("uuid")), *(pair for pair in info.pairs() if pair[0] not in told_above)]


def _xids(found: list[JsonObject], most: int) -> list[PageRow]:
    rows = [section_row("XIDs")] if found else []
    for one in found:
        begin = one.number("begin_ms")
        when = "" if begin is None else clock(begin)
        texts = wrap(f"{when} {one.text('what')}", max(1, most - 2), "  ")
        rows += [
            text_row((TextSpan(text, CRITICAL),), f"xid:{len(rows) + n}", most)
            for n, text in enumerate(texts)
        ]
    return rows


def _health(found: list[JsonObject], most: int) -> list[PageRow]:
    entries = [
        PageEntry(
            [one.text("label"), _value(one), one.text("state") or "-", one.text("why") or "-"],
            f"fact:{one.text('label')}",
            "",
            one.text("why"),
        )
        for one in found
    ]
    return [section_row("Health"), *table(HEALTH, entries, most)] if entries else []


def _value(one: JsonObject) -> str:
    value = one.number("value")
    return format_quantity(value, one.text("unit")) if value is not None else one.text("value") or ABSENT


def _allocation_rows(found: list[JsonObject], now: float | None, most: int) -> list[PageRow]:
    entries = []
    for number, one in enumerate(found):
        begin, end = one.number("from_ms"), one.number("to_ms") or now
        times = ["-", "-"] if begin is None or end is None else [clock(begin), format_duration(end - begin)]
        who = f"{one.text('kind')} {one.text('id')}"
        target = route("job", one.text("id")) if one.text("kind") == "job" else ""
        cells = [who, one.text("name") or "-", one.text("user") or "-", *times]
        entries.append(
            PageEntry(cells, f"held:{number}:{who}", target, "" if one.number("to_ms") else "holds it now")
        )
    return [section_row("Holders"), *table(HELD, entries, most)] if entries else []
