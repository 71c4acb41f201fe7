"""The Job page: what it makes of what it holds, and which rank is odd."""

from __future__ import annotations

from vigie.views.terminal import measures, tables
from vigie.views.terminal.header import opening
from vigie.views.terminal.json_object import JsonObject, route
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageEntry, PageRow, TerminalPage, section_row, table
from vigie.views.terminal.tables import Matches
from vigie.views.text.style import WARNING
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import clock
from vigie.views.text.units import format_quantity

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
RANKS = (
    TableColumn(""),
    TableColumn("rank", right=True),
    TableColumn("gpu"),
    *(TableColumn(head, right=True, rank=rank) for _, head, _, rank in MEASURED),
    TableColumn("odd", least=8),
)


def page(answer: JsonObject, _: Measure, matches: Matches, most: int) -> TerminalPage:
    now, job = answer.number("at_ms"), answer.part("job")
    rows: list[PageRow] = [*tables.incidents(answer, matches, most)]
    rows += tables.facts("Job", _facts(job), most)
    rows += tables.facts(
        "Free now", [pair for pair in answer.part("free").pairs() if pair[0] != "sentence"], most
    )
    rows += _ladder(answer.parts("ladder"), most)
    rows += _ranks(
        [rank for rank in answer.parts("ranks") if matches(_place(rank))], answer.part("medians"), most
    )
    return TerminalPage(job.text("name"), opening(answer, most), tuple(rows), now)


def _facts(job: JsonObject) -> list[tuple[str, str]]:
    begin, limit = job.number("start_ms"), job.number("limit_seconds")
    return [
        *((name, job.text(name)) for name in ("user", "account", "partition", "state", "reason")),
        ("since", "" if begin is None else clock(begin)),
        ("limit", "" if limit is None else format_quantity(limit, "seconds")),
        ("nodes", " ".join(job.texts("nodes"))),
        ("GPUs", str(len(job.texts("gpus")))),
    ]


def _ladder(found: list[JsonObject], most: int) -> list[PageRow]:
    entries = [
        PageEntry(
            [
                one.text("step"),
                _plain(one.number("gpus")),
                "-" if one.text("key") == "held" else _plain(one.number("lost_gpu_hours")),
                one.text("reason") or "-",
            ],
            f"step:{one.text('step')}",
            "",
            one.text("reason"),
        )
        for one in found
    ]
    return [section_row("What it makes of its GPUs"), *table(STEPS, entries, most)] if entries else []


def _ranks(found: list[JsonObject], medians: JsonObject, most: int) -> list[PageRow]:
    entries = []
    for rank in found:
        odd = rank.texts("odd")
        words = [
            "!" if odd else " ",
            rank.text("rank"),
            _place(rank),
            *_measure_cells(rank),
            ", ".join(odd) or "-",
        ]
        target = route("gpu", rank.text("node"), rank.text("gpu"))
        note = "  ".join(
            f"{name} {text}, the job's median {_of(medians, name)}"
            for name in odd
            if (text := _of(rank, name))
        )
        entries.append(PageEntry(words, f"rank:{rank.text('rank')}:{_place(rank)}", target, note, WARNING))
    return [section_row("Ranks", "the oddest first"), *table(RANKS, entries, most)] if entries else []


def _measure_cells(rank: JsonObject) -> list[str]:
    return [_of(rank, name) for name, _, _, _ in MEASURED]


def _of(one: JsonObject, name: str) -> str:
    unit = next((unit for field, _, unit, _ in MEASURED if field == name), "")
    value = one.number(name)
    return measures.ABSENT if value is None else format_quantity(value, unit)


def _place(rank: JsonObject) -> str:
    return f"{rank.text('node')}:{rank.text('gpu')}"


def _plain(value: float | None) -> str:
    return measures.ABSENT if value is None else format_quantity(value, "count")
