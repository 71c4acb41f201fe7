"""What several pages have: what needs attention, and tables of jobs, of GPUs, of facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vigie.views.terminal import measures
from vigie.views.terminal.header import flowing
from vigie.views.terminal.json_object import JsonObject, route
from vigie.views.terminal.page import PageEntry, PageRow, section_row, table, text_row
from vigie.views.terminal.styled_text import TextSpan, line
from vigie.views.text.style import DIM, tone
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import format_duration
from vigie.views.text.units import format_quantity

Matches = Callable[..., bool]
SIGNS = {"critical": "X", "warning": "!"}
LADDER = (("sm", "▉"), ("busy", "▓"), ("process", "▒"), ("held", "·"))
STEPS = 8  # the length of a job's bar
WIDE = 140  # columns from which what needs attention is told in a whole sentence
INCIDENTS = (
    TableColumn(""),
    TableColumn("what", least=24),
    TableColumn("where", least=8, rank=1),
    TableColumn("since", rank=2),
    TableColumn("hits", least=10, rank=3),
)
JOBS = (
    TableColumn(""),
    TableColumn("job", rank=1),
    TableColumn("name", least=8),
    TableColumn("user", least=6, rank=1),
    TableColumn("gpus", right=True),
    TableColumn("for", rank=2),
    TableColumn("use", rank=1),
    TableColumn("remark", least=10, rank=3),
    TableColumn("nodes", least=10, rank=4),
)
WAITING = (
    TableColumn("job"),
    TableColumn("name", least=8),
    TableColumn("user", least=6),
    TableColumn("gpus", right=True),
    TableColumn("for"),
    TableColumn("reason", least=10, rank=1),
)
GPUS = (
    TableColumn(""),
    TableColumn("gpu"),
    TableColumn("holder", least=12, rank=1),
    TableColumn("busy", right=True),
    TableColumn("SM", right=True),
    TableColumn("memory", right=True),
    TableColumn("power", right=True, rank=1),
    TableColumn("temp", right=True, rank=1),
    TableColumn("clock", right=True, rank=2),
    TableColumn("health", least=8, tells=True),
    TableColumn("why", least=12, rank=3),
)


def incidents(
    answer: JsonObject, matches: Matches, most: int, title: str = "Needs attention"
) -> list[PageRow]:
    """Return what needs somebody, the way to it, and what to do."""
    found = [
        one for one in answer.parts("incidents") if matches(one.text("summary"), _where(one), _affects(one))
    ]
    more = answer.number("incidents_more") or 0
    entries = [_incident(one, answer.number("at_ms"), most) for one in found]
    head = section_row(title, f"and {more:.0f} more: e" if more else "")
    return [head, *table(INCIDENTS, entries, most, head=False)] if entries else []


def jobs(
    title: str, found: Sequence[JsonObject], now: float | None, known: Mapping[str, str], most: int
) -> list[PageRow]:
    """Return a table of jobs that run or have ended."""
    entries = [_job(job, now, known.get(f"job:{job.text('id')}", "")) for job in found]
    return (
        [section_row(title, "use: ▉ SM ▓ busy ▒ process · held"), *table(JOBS, entries, most)]
        if entries
        else []
    )


def waiting(found: Sequence[JsonObject], now: float | None, most: int) -> list[PageRow]:
    """Return a table of jobs that wait."""
    entries = [
        PageEntry(
            [
                *_names(job),
                job.text("wanted_gpus") or "-",
                _age(job.number("queued_ms") or job.number("start_ms"), now),
                ": ".join(filter(None, (job.text("reason"), job.text("why")))) or "-",
            ],
            f"waiting:{job.text('id')}",
            route("job", job.text("id")),
            job.text("why") or job.text("reason"),
        )
        for job in found
    ]
    return [section_row("Waiting"), *table(WAITING, entries, most)] if entries else []


def gpus(title: str, found: Sequence[JsonObject], most: int) -> list[PageRow]:
    return [section_row(title), *table(GPUS, [_gpu(cell) for cell in found], most)] if found else []


def facts(title: str, found: Sequence[tuple[str, str]], most: int) -> list[PageRow]:
    """Return names and what they are, as many a line as fit."""
    spans = [line(TextSpan(f"{name} ", DIM), text) for name, text in found if text]
    rows = [text_row(one, f"{title}:{number}", most) for number, one in enumerate(flowing(spans, most - 2))]
    return [section_row(title), *rows] if rows else []


def _incident(one: JsonObject, now: float | None, most: int) -> PageEntry:
    severity, what, do = one.text("severity"), one.text("summary"), one.text("action")
    short = one.text("title") if most < WIDE else ""
    age = _age(one.number("since_ms"), now)
    words = [SIGNS.get(severity, "·"), short or what, _where(one)]
    words += [f"{age}, over" if one.number("until_ms") else age, _affects(one)]
    note = " ".join(filter(None, (what if short else "", do)))
    link = one.text("link")
    if one.number("until_ms") is None:  # what lasts is best seen as it is now
        link = link.partition("?")[0]
    return PageEntry(words, f"incident:{one.text('id')}", link, note, tone(severity))


def _where(one: JsonObject) -> str:
    where = one.part("where")
    node, gpu = where.text("node"), where.text("gpu")
    if node:
        return f"{node}:{gpu}" if gpu else " ".join(filter(None, (node, where.text("device"))))
    return f"job {where.text('job')}" if where.text("job") else ""


def _affects(one: JsonObject) -> str:
    affects = one.part("affects")
    jobs = [job.text("name") or job.text("id") for job in affects.parts("jobs")]
    count = affects.number("gpus")
    gpus = [f"{count:.0f} GPU{'s' * (count != 1)}"] if count else []
    return ", ".join([*jobs, *affects.texts("users"), *gpus])


def _job(job: JsonObject, now: float | None, letter: str) -> PageEntry:
    start, end = job.number("start_ms"), job.number("end_ms")
    number, name, user = _names(job)
    words = [
        letter or " ",
        number,
        name,
        user,
        str(len(job.texts("gpus"))),
        _age(start, end or now),
        ladder(job),
    ]
    remark = job.text("badge")
    note = job.text("why") or f"job {number} on {' '.join(job.texts('nodes')) or 'no node'}"
    cells = [*words, remark or "-", ",".join(job.texts("nodes"))]
    return PageEntry(cells, f"job:{number}", route("job", number), note)


def _names(job: JsonObject) -> list[str]:
    return [job.text("id"), job.text("name") or "-", job.text("user") or "-"]


def ladder(job: JsonObject) -> str:
    """Return how much of what a job holds is used, and how far, as a bar."""
    steps = job.part("ladder")
    held = steps.number("held")
    if not held:
        return "-"
    drawn = ""
    for name, character in LADDER:
        share = steps.number(name)
        if share is not None:
            upto = round(min(1.0, max(0.0, share / held)) * STEPS)
            drawn += character * (upto - len(drawn))
    return drawn


def _gpu(cell: JsonObject) -> PageEntry:
    node, gpu = cell.text("node"), cell.text("gpu")
    who = measures.holder(cell)
    shares = [_format_cell(cell, name, "ratio") for name in ("busy", "sm", "memory")]
    rest = [_format_cell(cell, name, unit) for name, unit in (("power", "watts"), ("temperature", "celsius"))]
    why = ", ".join(filter(None, (cell.text("why"), *cell.texts("throttled"))))
    health = cell.text("health")
    words = [
        SIGNS.get(health, "X" if health == "lost" else " "),
        f"{node}:{gpu}",
        who or "free",
        *shares,
        *rest,
        _format_cell(cell, "clock", "hertz"),
        health or measures.ABSENT,
        why or "-",
    ]
    return PageEntry(words, f"gpu:{node}:{gpu}", route("gpu", node, gpu), why or who, tone(health))


def _format_cell(cell: JsonObject, name: str, unit: str) -> str:
    value = cell.number(name)
    return measures.ABSENT if value is None else format_quantity(value, unit)


def _age(begin: float | None, now: float | None) -> str:
    return "-" if begin is None or now is None else format_duration(now - begin)
