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
UNITS = {
    "sm": "ratio",
    "tensor": "ratio",
    "memory": "ratio",
    "power": "watts",
    "clock": "hertz",
    "nvlink": "bytes/s",
    "infiniband": "bytes/s",
    "cpu": "ratio",
}
RANKS = (
    TableColumn(""),
    TableColumn("rank", right=True),
    TableColumn("gpu"),
    TableColumn("SM", right=True),
    *(TableColumn(name, right=True, rank=1) for name in ("tensor", "memory", "power", "clock")),
    TableColumn("NVLink", right=True, rank=3),
    TableColumn("IB", right=True, rank=2),
    TableColumn("CPU", right=True, rank=2),
    TableColumn("odd", least=8),
)


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
    entries = []
    for rank in ranks:
        values = {name: format_measure(getattr(rank, name), unit) for name, unit in UNITS.items()}
        odd = [name for name in rank.odd if name in UNITS]
        cells = ["!" if odd else " ", str(rank.rank), _place(rank), *values.values(), ", ".join(odd) or "-"]
        note = "  ".join(
            f"{name} {values[name]}, the job's median {format_measure(medians.get(name), UNITS[name])}"
            for name in odd
        )
        link = build_link("gpu", rank.node, rank.gpu)
        entries.append(PageEntry(cells, f"rank:{rank.rank}:{_place(rank)}", link, note, WARNING))
    return [section_row("Ranks", "the oddest first"), *table(RANKS, entries, max_width)] if entries else []


def _place(rank: RankRow) -> str:
    return f"{rank.node}:{rank.gpu}"
