"""The Node page: its GPUs, who is on it, and how its sources are."""

from __future__ import annotations

from vigie.views.terminal import tables
from vigie.views.terminal.header import opening
from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import PageEntry, PageRow, TerminalPage, section_row, table
from vigie.views.terminal.tables import Matches
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.units import format_quantity

SOURCES = (TableColumn("source"), TableColumn("state", tells=True), TableColumn("reason", least=12, rank=1))
ORDER = {"error": 0, "stale": 1, "ok": 2, "unavailable": 3}
WHO = (
    TableColumn("what", least=8),
    TableColumn("user", least=6, rank=1),
    TableColumn("uses", least=10, rank=2),
)
USES = (("gpu_memory_bytes", "bytes"), ("memory_bytes", "bytes"), ("rss_bytes", "bytes"), ("cpu", ""))


def page(answer: JsonObject, _: Measure, matches: Matches, most: int) -> TerminalPage:
    now, node, who = answer.number("at_ms"), answer.part("node"), answer.part("who")
    rows: list[PageRow] = [*tables.incidents(answer, matches, most)]
    rows += tables.gpus("GPUs", [cell for cell in answer.parts("cells") if matches(*cell_words(cell))], most)
    rows += tables.jobs("Jobs", who.parts("jobs"), now, {}, most)
    for name in ("containers", "processes"):
        rows += _holders(name, [one for one in who.parts(name) if matches(*dict(one.pairs()).values())], most)
    rows += tables.facts("Machine", _facts(node), most)
    sources = sorted(answer.parts("sources"), key=lambda one: ORDER.get(one.text("state"), 0))
    rows += _sources([one for one in sources if matches(one.text("source"), one.text("state"))], most)
    return TerminalPage(node.text("model"), opening(answer, most), tuple(rows), now)


def cell_words(cell: JsonObject) -> list[str]:
    """Return what a GPU can be found by."""
    holder = cell.part("holder")
    held = [holder.text(name) for name in ("id", "name", "user")]
    return [f"{cell.text('node')}:{cell.text('gpu')}", cell.text("model"), cell.text("health"), *held]


def _facts(node: JsonObject) -> list[tuple[str, str]]:
    uptime, slurm, agent = node.number("uptime_seconds"), node.part("slurm"), node.part("agent")
    memory = agent.number("rss_bytes")
    return [
        ("state", node.text("state")),
        ("Slurm", ", ".join(filter(None, (slurm.text("state"), slurm.text("reason"))))),
        ("up", "" if uptime is None else format_quantity(uptime, "seconds")),
        *((name, node.text(name)) for name in ("model", "driver", "kernel")),
        *node.part("labels").pairs(),
        ("agent", agent.text("version")),
        ("agent's memory", "" if memory is None else format_quantity(memory, "bytes")),
        ("missing", ", ".join(node.texts("missing"))),
    ]


def _holders(name: str, found: list[JsonObject], most: int) -> list[PageRow]:
    entries = [
        PageEntry(
            [_holder_name(one), one.text("user") or "-", _uses(one)],
            f"{name}:{number}",
            "",
            _holder_name(one),
        )
        for number, one in enumerate(found)
    ]
    return [section_row(name.capitalize()), *table(WHO, entries, most)] if entries else []


def _holder_name(one: JsonObject) -> str:
    words = (one.text("name"), one.text("id") or one.text("pid"), one.text("command"))
    return " ".join(filter(None, words)) or "-"


def _uses(one: JsonObject) -> str:
    words = [f"gpu {gpu}" for gpu in one.texts("gpus") or filter(None, [one.text("gpu")])]
    words += [format_quantity(value, unit) for name, unit in USES if (value := one.number(name)) is not None]
    return ", ".join(words) or "-"


def _sources(found: list[JsonObject], most: int) -> list[PageRow]:
    entries = [
        PageEntry(
            [one.text("source"), one.text("state"), one.text("reason") or "-"],
            f"source:{one.text('source')}",
            "",
            one.text("reason"),
        )
        for one in found
    ]
    return [section_row("Sources"), *table(SOURCES, entries, most)] if entries else []
