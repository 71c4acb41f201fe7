"""The Cluster page: incidents, the map, and the jobs."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.gpu_map import draw_map
from vigie.views.terminal.header import build_header
from vigie.views.terminal.measures import Measure, assign_letters
from vigie.views.terminal.page import PageRow, TerminalPage, section_row, text_row
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.terminal.tables import Matches, job_words
from vigie.views.text.style import DIM
from vigie.wire.api.pages import ClusterPage
from vigie.wire.api.rows import ClusterNode


def build_page(page: ClusterPage, measure: Measure, matches: Matches, max_width: int) -> TerminalPage:
    letters = assign_letters(page.jobs, page.nodes)
    unfiltered = matches()  # no words at all match where there is no filter, and only there
    nodes = page.nodes if unfiltered else [node for node in page.nodes if matches(*_words(node))]
    rows: list[PageRow] = [*tables.incident_rows(page, matches, max_width)]
    if any(node.cells for node in page.nodes):
        rows.append(section_row(f"GPUs by {measure.name}", measure.legend))
    else:
        rows.append(section_row("Nodes", "no GPUs are known"))
    rows += draw_map(nodes, measure, letters, max_width)
    if not nodes:
        why = "no node matches" if page.nodes else "no nodes yet; on the server: vigie nodes join"
        rows.append(text_row((TextSpan(why, DIM),), "no nodes", max_width))
    running = [job for job in page.jobs if matches(*job_words(job))]
    waiting = [job for job in page.waiting if matches(*job_words(job))]
    title = f"Jobs ({len(page.jobs)} running, {len(page.waiting)} waiting)"
    rows += tables.job_rows(title, running, page.at_ms, letters, max_width)
    rows += tables.waiting_rows(waiting, page.at_ms, max_width)
    return TerminalPage("", build_header(page, max_width), tuple(rows), page.at_ms, page.simulated)


def _words(node: ClusterNode) -> list[str]:
    holders = [cell.holder for cell in node.cells if cell.holder]
    held = {word for holder in holders for word in (holder.id, holder.name, holder.user)}
    labels = [f"{name}={value}" for name, value in node.labels.items()]
    return [node.name, node.state, *labels, *held, *{cell.model for cell in node.cells}]
