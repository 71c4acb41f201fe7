"""The Node page: its GPUs, who is on it, and the state of its sources."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import build_header
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageEntry, PageRow, TerminalPage, section_row, table
from vigie.views.terminal.tables import Matches, cell_words
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.units import format_quantity
from vigie.wire.api.pages import NodePage
from vigie.wire.api.rows import NodeDetails, NodeHolder, ProcessRow, SourceRow

SOURCES = (TableColumn("source"), TableColumn("state", tells=True), TableColumn("reason", least=12, rank=1))
HOLDERS = (
    TableColumn("what", least=8),
    TableColumn("user", least=6, rank=1),
    TableColumn("uses", least=10, rank=2),
)


def build_page(page: NodePage, _: Measure, matches: Matches, max_width: int) -> TerminalPage:
    node, who = page.node, page.who
    cells = [cell for cell in page.cells if matches(*cell_words(cell))]
    containers = [one for one in who.containers if matches(one.name, one.user, one.image)]
    processes = [one for one in who.processes if matches(one.gpu, one.pid)]
    sources = [one for one in page.sources if matches(one.source, one.state)]
    rows: list[PageRow] = [*tables.incident_rows(page, matches, max_width)]
    rows += tables.gpu_rows("GPUs", cells, max_width)
    rows += tables.job_rows("Jobs", who.jobs, page.at_ms, {}, max_width)
    rows += _holder_rows("Containers", [*map(_container_cells, containers)], max_width)
    rows += _holder_rows("Processes", [*map(_process_cells, processes)], max_width)
    rows += tables.fact_rows("Machine", _facts(node), max_width)
    rows += _source_rows(sources, max_width)
    return TerminalPage(node.model, build_header(page, max_width), tuple(rows), page.at_ms)


def _facts(node: NodeDetails) -> list[tuple[str, str]]:
    uptime, memory, slurm = node.uptime_seconds, node.agent.rss_bytes, node.slurm
    return [
        ("state", node.state),
        ("Slurm", ", ".join(filter(None, (slurm.state, slurm.reason))) if slurm else ""),
        ("up", "" if uptime is None else format_quantity(uptime, "seconds")),
        ("model", node.model),
        ("driver", node.driver),
        ("kernel", node.kernel),
        *node.labels.items(),
        ("agent", node.agent.version),
        ("agent's memory", "" if memory is None else format_quantity(memory, "bytes")),
        ("missing", ", ".join(node.missing)),
    ]


def _container_cells(one: NodeHolder) -> list[str]:
    return [one.name or "-", one.user or "-", ", ".join(f"gpu {gpu}" for gpu in one.gpus) or "-"]


def _process_cells(one: ProcessRow) -> list[str]:
    return [one.pid, "-", f"gpu {one.gpu}, {format_quantity(one.gpu_memory_bytes, 'bytes')}"]


def _holder_rows(title: str, rows: list[list[str]], max_width: int) -> list[PageRow]:
    entries = [PageEntry(cells, f"{title}:{number}", "", cells[0]) for number, cells in enumerate(rows)]
    return [section_row(title), *table(HOLDERS, entries, max_width)] if entries else []


def _source_rows(sources: list[SourceRow], max_width: int) -> list[PageRow]:
    entries = [
        PageEntry([one.source, one.state, one.reason or "-"], f"source:{one.source}", "", one.reason)
        for one in sources
    ]
    return [section_row("Sources"), *table(SOURCES, entries, max_width)] if entries else []
