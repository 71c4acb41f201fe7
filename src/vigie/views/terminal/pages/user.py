"""The User page: what somebody holds, and what of it lies idle."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import opening
from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageEntry, PageRow, TerminalPage, section_row, table
from vigie.views.terminal.pages.cluster import job_words
from vigie.views.terminal.pages.node import cell_words
from vigie.views.terminal.tables import Matches
from vigie.views.text.table_layout import TableColumn

IDLE = (TableColumn("what", least=20), TableColumn("to type", least=20, rank=1))


def page(answer: JsonObject, _: Measure, matches: Matches, most: int) -> TerminalPage:
    now = answer.number("at_ms")
    idle = [
        PageEntry(
            [one.text("summary"), one.text("command") or "-"], f"idle:{number}", "", one.text("command")
        )
        for number, one in enumerate(answer.parts("idle"))
    ]
    rows: list[PageRow] = [section_row("Held but idle"), *table(IDLE, idle, most)] if idle else []
    found = [job for job in answer.parts("jobs") if matches(*job_words(job))]
    rows += tables.jobs("Jobs", found, now, {}, most)
    rows += tables.gpus("GPUs", [cell for cell in answer.parts("cells") if matches(*cell_words(cell))], most)
    return TerminalPage("", opening(answer, most), tuple(rows), now)
