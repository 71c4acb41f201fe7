"""The Cluster page: what needs attention, the map, and the jobs."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.gpu_map import grid
from vigie.views.terminal.header import opening
from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.measures import Measure, letters
from vigie.views.terminal.page import PageRow, TerminalPage, section_row, text_row
from vigie.views.terminal.styled_text import TextSpan
from vigie.views.terminal.tables import Matches
from vigie.views.text.style import DIM


def page(answer: JsonObject, measure: Measure, matches: Matches, most: int) -> TerminalPage:
    now = answer.number("at_ms")
    nodes, jobs, waiting = answer.parts("nodes"), answer.parts("jobs"), answer.parts("waiting")
    known = letters(jobs, nodes)
    unfiltered = matches()  # no words at all match where there is no filter, and only there
    shown = nodes if unfiltered else [node for node in nodes if matches(*_words(node))]
    running = [job for job in jobs if matches(*job_words(job))]
    rows: list[PageRow] = [*tables.incidents(answer, matches, most)]
    gpus = any(node.parts("cells") for node in nodes)
    title = (
        section_row(f"GPUs by {measure.name}", measure.legend)
        if gpus
        else section_row("Nodes", "no GPUs are known")
    )
    rows += [title, *grid(shown, measure, known, most)]
    if not shown:
        why = "no node matches" if nodes else "no nodes yet; on the server: vigie nodes join"
        rows.append(text_row((TextSpan(why, DIM),), "no nodes", most))
    rows += tables.jobs(f"Jobs ({len(jobs)} running, {len(waiting)} waiting)", running, now, known, most)
    rows += tables.waiting([job for job in waiting if matches(*job_words(job))], now, most)
    return TerminalPage("", opening(answer, most), tuple(rows), now, bool(answer.flag("simulated")))


def job_words(job: JsonObject) -> list[str]:
    """Return what a job can be found by."""
    return [*(job.text(name) for name in ("id", "name", "user", "partition", "badge")), *job.texts("nodes")]


def _words(node: JsonObject) -> list[str]:
    holders = [cell.part("holder") for cell in node.parts("cells")]
    held = {holder.text(name) for holder in holders for name in ("id", "name", "user")}
    labels = [f"{name}={value}" for name, value in node.part("labels").pairs()]
    models = {cell.text("model") for cell in node.parts("cells")}
    return [node.text("name"), node.text("state"), *labels, *held, *models]
