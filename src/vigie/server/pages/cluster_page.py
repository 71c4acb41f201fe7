"""The Cluster page: whether anything is broken, whether it is used, and by whom."""

from __future__ import annotations

from vigie.server.pages import queries
from vigie.server.pages.gpu_map import GpuCells
from vigie.server.pages.humanize import format_duration, pluralize
from vigie.server.pages.incident_rows import MAX_INCIDENTS, IncidentRows
from vigie.server.pages.rows import JobRows, NodeRows
from vigie.server.pages.snapshot import Snapshot
from vigie.server.pages.widgets import CRITICAL, OK, UNKNOWN, WARNING, build_stat, build_verdict
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.pages import ClusterPage
from vigie.wire.api.rows import ClusterNode, IncidentRow, Stat, State, Verdict

NO_GPUS = "no GPU has been seen on any node"
MAX_JOBS = 200


class Usage:
    """How many GPUs there are, are held, work and idle."""

    def __init__(self, snapshot: Snapshot) -> None:
        places = list(snapshot.cards)
        there = [place for place in places if snapshot.present(place)]
        held = [place for place in places if snapshot.held.get(place)]
        self.known, self.present, self.held = len(places), len(there), len(held)
        self.working = sum(snapshot.working(place) is True for place in there)
        self.idle = sum(snapshot.idle(place) is True for place in held)
        expected = [int(node.expected.get("gpus", 0) or 0) for node in snapshot.nodes.values()]
        self.expected = max(sum(expected), len(places))
        self.measured = any(snapshot.all("busy_5m"))

    @property
    def sentence(self) -> str:
        if not self.expected:
            return "No GPU here."
        return (
            f"{self.held} of {pluralize(self.expected, 'GPU')} held, {self.working} working, "
            f"{self.idle} held but idle."
        )


def build_cluster_page(snapshot: Snapshot, redactor: Redactor, *, simulated: bool) -> ClusterPage:
    cells, jobs, nodes = GpuCells(snapshot, redactor), JobRows(snapshot, redactor), NodeRows(snapshot)
    incidents = IncidentRows(snapshot, redactor).all()
    return ClusterPage(
        at_ms=snapshot.at_ms,
        simulated=simulated,
        verdict=_verdict(snapshot, incidents),
        numbers=_numbers(snapshot),
        incidents=incidents[:MAX_INCIDENTS],
        incidents_more=max(len(incidents) - MAX_INCIDENTS, 0),
        nodes=[
            nodes.extend(
                ClusterNode, name, cells=[cells.build(card.place) for card in snapshot.on_node[name]]
            )
            for name in sorted(snapshot.nodes)
        ],
        jobs=[jobs.build(job) for job in snapshot.running()[:MAX_JOBS]],
        waiting=[jobs.build(job) for job in snapshot.waiting()[:MAX_JOBS]],
        missing=snapshot.missing,
        errors=snapshot.errors,
        unfinished=snapshot.unfinished,
    )


def summarize_incidents(incidents: list[IncidentRow]) -> tuple[State, str]:
    """Return the state that open incidents leave things in, and the sentence that counts them."""
    urgent = [row for row in incidents if row.until_ms is None and row.severity != "info"]
    if not urgent:
        return OK, "Nothing needs you."
    worst = CRITICAL if any(row.severity == "critical" for row in urgent) else WARNING
    return worst, f"{pluralize(len(urgent), 'thing')} need{'s' if len(urgent) == 1 else ''} you."


def _verdict(snapshot: Snapshot, incidents: list[IncidentRow]) -> Verdict:
    if not snapshot.nodes:
        why = f" ({snapshot.missing})" if snapshot.missing else ""
        return build_verdict(
            UNKNOWN, f"No node has been heard yet{why}: `vigie nodes join` prints the line to paste."
        )
    state, sentence = summarize_incidents(incidents)
    usage = Usage(snapshot)
    if usage.expected:
        return build_verdict(state, sentence, usage.sentence)
    up = sum(snapshot.node_state(name) == "up" for name in snapshot.nodes)
    return build_verdict(
        state, sentence, f"{up} of {pluralize(len(snapshot.nodes), 'node')} up, none with a GPU."
    )


def _numbers(snapshot: Snapshot) -> list[Stat]:
    usage, waiting = Usage(snapshot), snapshot.waiting()
    power = list(snapshot.all("power").values())
    why = "" if usage.expected else NO_GPUS
    absent = why or ("" if usage.measured else "no source tells how busy the GPUs are")

    def count_gpus(
        key: str, label: str, count: int, query: str, *, warn: bool = False, reason: str = why
    ) -> Stat:
        value, state = None if reason else count, WARNING if warn else OK
        return build_stat(
            key, label, value, of=usage.expected or None, state=state, query=query, reason=reason
        )

    lacking = usage.present < usage.expected
    oldest = min((job.queued_ms or job.start_ms for job in waiting), default=None)
    wait = f", oldest {format_duration(snapshot.at_ms - oldest)}" if oldest is not None else ""
    return [
        count_gpus("present", "GPUs present", usage.present, queries.PRESENT_LINE, warn=lacking),
        count_gpus("held", "Held", usage.held, queries.HELD),
        count_gpus("working", "Working", usage.working, queries.WORKING_LINE, reason=absent),
        count_gpus(
            "idle", "Held but idle", usage.idle, queries.IDLE_LINE, warn=usage.idle > 0, reason=absent
        ),
        build_stat(
            "jobs",
            f"Jobs running, {len(waiting)} waiting{wait}",
            None if snapshot.missing else len(snapshot.running()),
            query=queries.RUNNING_LINE,
            reason=snapshot.missing,
        ),
        build_stat(
            "power",
            "GPU power",
            sum(power) if power else None,
            "watts",
            query=queries.POWER_LINE,
            reason=why or "no GPU tells its power",
        ),
    ]
