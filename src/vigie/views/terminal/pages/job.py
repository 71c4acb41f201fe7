"""The Job page: how it uses what it holds, and which rank is odd."""

from __future__ import annotations

from collections.abc import Mapping

from vigie.views.terminal import tables
from vigie.views.terminal.header import build_header
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageEntry, PageRow, TerminalPage, build_link, section_row, table
from vigie.views.terminal.tables import Matches, format_measure
from vigie.views.text.style import WARNING
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import clock
from vigie.views.text.units import format_quantity
from vigie.wire.api.pages import JobPage
from vigie.wire.api.rows import FreeGpus, JobRow, LadderStep, RankRow

STEPS = (
    TableColumn("step"),
    TableColumn("gpus", right=True),
    TableColumn("lost GPU-hours", right=True),
    TableColumn("reason", least=12, rank=1),
)
MEASURED = (
    ("sm", "SM", "ratio", 0),
    ("tensor", "tensor", "ratio", 1),
    ("memory", "memory", "ratio", 1),
    ("power", "power", "watts", 1),
    ("clock", "clock", "hertz", 1),
    ("nvlink", "NVLink", "bytes/s", 3),
    ("infiniband", "IB", "bytes/s", 2),
    ("cpu", "CPU", "ratio", 2),
)
REPORTED = (  # by the job itself; shown only if it does
    ("loss", "loss", "count", 2),
    ("step_seconds", "step", "seconds", 1),
    ("samples_per_second", "samples/s", "count", 3),
    ("mfu", "MFU", "ratio", 2),
)
UNITS = {name: unit for name, _, unit, _ in (*MEASURED, *REPORTED)}


def build_page(page: JobPage, _: Measure, matches: Matches, max_width: int) -> TerminalPage:
    ranks = [rank for rank in page.ranks if matches(_place(rank))]
    rows: list[PageRow] = [*tables.incident_rows(page, matches, max_width)]
    rows += tables.fact_rows("Job", _facts(page.job), max_width)
    rows += tables.fact_rows("Free now", _free_facts(page.free), max_width)
    rows += _step_rows(page.ladder, max_width)
    rows += _rank_rows(ranks, page.medians, max_width)
    return TerminalPage(page.job.name, build_header(page, max_width), tuple(rows), page.at_ms)


def _facts(job: JobRow) -> list[tuple[str, str]]:
    return [
        ("user", job.user),
        ("account", job.account),
        ("partition", job.partition),
        ("state", job.state),
        ("reason", job.reason),
        ("array", job.array),
        ("since", "" if job.start_ms is None else clock(job.start_ms)),
        ("limit", "" if job.limit_seconds is None else format_quantity(job.limit_seconds, "seconds")),
        ("nodes", " ".join(job.nodes)),
        ("GPUs", str(len(job.gpus))),
    ]


def _free_facts(free: FreeGpus | None) -> list[tuple[str, str]]:
    if free is None:
        return []
    return [("partition", free.partition), ("gpus", str(free.gpus)), ("nodes", str(free.nodes))]


def _step_rows(steps: list[LadderStep], max_width: int) -> list[PageRow]:
    entries = [
        PageEntry(
            [
                step.step,
                format_measure(step.gpus, "count"),
                "-" if step.key == "held" else format_measure(step.lost_gpu_hours, "count"),
                step.reason or "-",
            ],
            f"step:{step.step}",
            "",
            step.reason,
        )
        for step in steps
    ]
    return [section_row("What it makes of its GPUs"), *table(STEPS, entries, max_width)] if entries else []


def _rank_rows(ranks: list[RankRow], medians: Mapping[str, float | None], max_width: int) -> list[PageRow]:
    shown = [*MEASURED, *(row for row in REPORTED if medians.get(row[0]) is not None)]
    entries = []
    for rank in ranks:
        values = {name: format_measure(getattr(rank, name), UNITS[name]) for name, *_ in shown}
        odd = [name for name in rank.odd if name in values]
        cells = ["!" if odd else " ", str(rank.rank), _place(rank), *values.values(), ", ".join(odd) or "-"]
        note = "  ".join(
            f"{name} {values[name]}, the job's median {format_measure(medians.get(name), UNITS[name])}"
            for name in odd
        )
        link = build_link("gpu", rank.node, rank.gpu)
        entries.append(PageEntry(cells, f"rank:{rank.rank}:{_place(rank)}", link, note, WARNING))
    columns = (
        TableColumn(""),
        TableColumn("rank", right=True),
        TableColumn("gpu"),
        *(TableColumn(head, right=True, rank=order) for _, head, _, order in shown),
        TableColumn("odd", least=8),
    )
    return [section_row("Ranks", "the oddest first"), *table(columns, entries, max_width)] if entries else []


def _place(rank: RankRow) -> str:
    return f"{rank.node}:{rank.gpu}"
