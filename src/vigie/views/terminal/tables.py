"""Tables that several pages have: incidents, jobs, GPUs, facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vigie.views.terminal import measures
from vigie.views.terminal.header import flow_lines
from vigie.views.terminal.page import PageEntry, PageRow, build_link, section_row, table, text_row
from vigie.views.terminal.styled_text import TextSpan, line
from vigie.views.text.style import DIM, tone
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import format_duration
from vigie.views.text.units import format_quantity
from vigie.wire.api.pages import ClusterPage, IncidentsPage
from vigie.wire.api.rows import GpuCell, IncidentRow, JobLadder, JobRow

Matches = Callable[..., bool]
SIGNS = {"critical": "X", "warning": "!"}
LADDER_STEPS = (("sm", "▉"), ("busy", "▓"), ("process", "▒"), ("held", "·"))
LADDER_WIDTH = 8
WIDE = 140  # columns from which an incident is a whole sentence
INCIDENTS = (
    TableColumn(""),
    TableColumn("what", least=24),
    TableColumn("where", least=8, rank=1),
    TableColumn("since", rank=2),
    TableColumn("affects", least=10, rank=3),
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


def incident_rows(
    page: IncidentsPage, matches: Matches, max_width: int, title: str = "Needs attention"
) -> list[PageRow]:
    incidents = [one for one in page.incidents if matches(one.summary, _where(one), _affects(one))]
    more = page.incidents_more if isinstance(page, ClusterPage) else 0
    entries = [_incident_entry(one, page.at_ms, max_width) for one in incidents]
    head = section_row(title, f"and {more} more: e" if more else "")
    return [head, *table(INCIDENTS, entries, max_width, head=False)] if entries else []


def job_rows(
    title: str, jobs: Sequence[JobRow], now_ms: int, letters: Mapping[str, str], max_width: int
) -> list[PageRow]:
    """Return a table of jobs that run or have ended."""
    entries = [_job_entry(job, now_ms, letters.get(f"job:{job.id}", "")) for job in jobs]
    head = section_row(title, "use: ▉ SM ▓ busy ▒ process · held")
    return [head, *table(JOBS, entries, max_width)] if entries else []


def waiting_rows(jobs: Sequence[JobRow], now_ms: int, max_width: int) -> list[PageRow]:
    entries = [
        PageEntry(
            [
                *_names(job),
                "-" if job.wanted_gpus is None else str(job.wanted_gpus),
                _age(job.queued_ms or job.start_ms, now_ms),
                ": ".join(filter(None, (job.reason, job.why))) or "-",
            ],
            f"waiting:{job.id}",
            build_link("job", job.id),
            job.why or job.reason,
        )
        for job in jobs
    ]
    return [section_row("Waiting"), *table(WAITING, entries, max_width)] if entries else []


def gpu_rows(title: str, cells: Sequence[GpuCell], max_width: int) -> list[PageRow]:
    return [section_row(title), *table(GPUS, [*map(_gpu_entry, cells)], max_width)] if cells else []


def fact_rows(title: str, facts: Sequence[tuple[str, str]], max_width: int) -> list[PageRow]:
    """Return names and values, as many per line as fit."""
    spans = [line(TextSpan(f"{name} ", DIM), text) for name, text in facts if text]
    lines = enumerate(flow_lines(spans, max_width - 2))
    rows = [text_row(spans, f"{title}:{number}", max_width) for number, spans in lines]
    return [section_row(title), *rows] if rows else []


def format_measure(value: float | None, unit: str) -> str:
    return measures.ABSENT if value is None else format_quantity(value, unit)


def draw_ladder(ladder: JobLadder) -> str:
    """Return how much of what a job holds is used, and how far, as a bar."""
    if not ladder.held:
        return "-"
    bar = ""
    for name, character in LADDER_STEPS:
        share: float | None = getattr(ladder, name)
        if share is not None:
            end = round(min(1.0, max(0.0, share / ladder.held)) * LADDER_WIDTH)
            bar += character * (end - len(bar))
    return bar


def job_words(job: JobRow) -> list[str]:
    """Return what a job can be found by."""
    return [job.id, job.name, job.user, job.partition, job.badge, *job.nodes]


def cell_words(cell: GpuCell) -> list[str]:
    """Return what a GPU can be found by."""
    holder = cell.holder
    return [
        f"{cell.node}:{cell.gpu}",
        cell.model,
        cell.health,
        *((holder.id, holder.name, holder.user) if holder else ()),
    ]


def _incident_entry(one: IncidentRow, now_ms: int, max_width: int) -> PageEntry:
    short = one.title if max_width < WIDE else ""
    age = _age(one.since_ms, now_ms)
    words = [SIGNS.get(one.severity, "·"), short or one.summary, _where(one)]
    words += [age if one.until_ms is None else f"{age}, over", _affects(one)]
    note = " ".join(filter(None, (one.summary if short else "", one.action)))
    # What lasts is best seen as it is now.
    link = one.link.partition("?")[0] if one.until_ms is None else one.link
    return PageEntry(words, f"incident:{one.id}", link, note, tone(one.severity))


def _where(one: IncidentRow) -> str:
    node, gpu, device, job = (one.where.get(name, "") for name in ("node", "gpu", "device", "job"))
    if node:
        return f"{node}:{gpu}" if gpu else " ".join(filter(None, (node, device)))
    return f"job {job}" if job else ""


def _affects(one: IncidentRow) -> str:
    count = one.affects.gpus
    gpus = [f"{count} GPU{'s' * (count != 1)}"] if count else []
    return ", ".join([*(job.name or job.id for job in one.affects.jobs), *one.affects.users, *gpus])


def _job_entry(job: JobRow, now_ms: int, letter: str) -> PageEntry:
    number, name, user = _names(job)
    age = _age(job.start_ms, job.end_ms or now_ms)
    words = [letter or " ", number, name, user, str(len(job.gpus)), age, draw_ladder(job.ladder)]
    note = job.why or f"job {number} on {' '.join(job.nodes) or 'no node'}"
    cells = [*words, job.badge or "-", ",".join(job.nodes)]
    return PageEntry(cells, f"job:{number}", build_link("job", number), note)


def _names(job: JobRow) -> list[str]:
    return [job.id, job.name or "-", job.user or "-"]


def _gpu_entry(cell: GpuCell) -> PageEntry:
    holder = measures.format_holder(cell)
    why = ", ".join(filter(None, (cell.why, *cell.throttled)))
    words = [
        SIGNS.get(cell.health, "X" if cell.health == "lost" else " "),
        f"{cell.node}:{cell.gpu}",
        holder or "free",
        *(format_measure(share, "ratio") for share in (cell.busy, cell.sm, cell.memory)),
        format_measure(cell.power, "watts"),
        format_measure(cell.temperature, "celsius"),
        format_measure(cell.clock, "hertz"),
        cell.health,
        why or "-",
    ]
    link = build_link("gpu", cell.node, cell.gpu)
    return PageEntry(words, f"gpu:{cell.node}:{cell.gpu}", link, why or holder, tone(cell.health))


def _age(begin_ms: int | None, now_ms: int) -> str:
    return "-" if begin_ms is None else format_duration(now_ms - begin_ms)
