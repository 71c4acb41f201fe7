"""The User page: what a user holds, and what of it is idle."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import build_header
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageEntry, PageRow, TerminalPage, section_row, table
from vigie.views.terminal.tables import Matches, cell_words, job_words
from vigie.views.text.table_layout import TableColumn
from vigie.wire.api.pages import UserPage

IDLE = (TableColumn("what", least=20), TableColumn("to type", least=20, rank=1))


def build_page(page: UserPage, _: Measure, matches: Matches, max_width: int) -> TerminalPage:
    idle = [
        PageEntry([one.summary, one.command or "-"], f"idle:{number}", "", one.command)
        for number, one in enumerate(page.idle)
    ]
    jobs = [job for job in page.jobs if matches(*job_words(job))]
    cells = [cell for cell in page.cells if matches(*cell_words(cell))]
    rows: list[PageRow] = [section_row("Held but idle"), *table(IDLE, idle, max_width)] if idle else []
    rows += tables.job_rows("Jobs", jobs, page.at_ms, {}, max_width)
    rows += tables.gpu_rows("GPUs", cells, max_width)
    return TerminalPage("", build_header(page, max_width), tuple(rows), page.at_ms)
