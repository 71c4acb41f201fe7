"""What needs attention, in words: severity, what, where, since when, whom it hits, what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast
from urllib.parse import quote

from vigie.findings.core.finding import RANK
from vigie.findings.core.incident import Incident
from vigie.server.pages.humanize import MINUTE_MS, format_duration, format_value, join_words, pluralize
from vigie.server.pages.snapshot import Snapshot
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.rows import Impact, IncidentRow, JobName, Severity

MAX_INCIDENTS = 8  # on the Cluster page
REASONS = {  # why a GPU is throttled
    "hw_power_brake": "hardware power brake",
    "hw_thermal": "hardware thermal",
    "sw_thermal": "software thermal",
    "hw_slowdown": "hardware slowdown",
}


class BlankField(dict[str, str]):
    """Facts of a sentence; what is not known is said as such."""

    def __missing__(self, key: str) -> str:
        return "?"


class IncidentRows:
    """Tells the incidents of a snapshot as one caller sees them."""

    def __init__(self, snapshot: Snapshot, redactor: Redactor) -> None:
        self._snapshot, self._redactor = snapshot, redactor

    def all(self, fits: Callable[[Incident], bool] = lambda _: True) -> list[IncidentRow]:
        """Return the rows of incidents that fit: open first, then by severity, then newest."""
        return [self.build(incident) for incident in by_severity(self._snapshot.incidents) if fits(incident)]

    def build(self, incident: Incident) -> IncidentRow:
        finding, jobs = incident.finding, self._jobs(incident)
        where, words = _where(incident, jobs), self._words(incident, jobs)
        return IncidentRow(
            id="/".join([finding.name, *where.values()]),
            finding=finding.name,
            title=finding.title,
            severity=cast(Severity, incident.severity),
            summary=_sentence(incident).format_map(BlankField(words)),
            where=where,
            nodes=list(incident.nodes),
            since_ms=incident.begin_ms,
            until_ms=incident.end_ms,
            affects=Impact(
                [JobName(job["id"], job["name"] or job["id"]) for job in jobs],
                sorted({job["user"] for job in jobs if job["user"]}),
                self._count_gpus(incident),
            ),
            action=_action(incident).format_map(BlankField(words)),
            link=_link(incident, where, self._snapshot.at_ms),
        )

    def _jobs(self, incident: Incident) -> list[dict[str, Any]]:
        return [
            self._redactor.job(self._snapshot.jobs[job])
            for job in incident.jobs
            if job in self._snapshot.jobs
        ]

    def _count_gpus(self, incident: Incident) -> int:
        """Return how many GPUs it costs: those of the jobs that it hits, or those that it sits on."""
        hit = {
            gpu
            for job in incident.jobs
            if job in self._snapshot.jobs
            for gpu in self._snapshot.jobs[job].gpus
        }
        if incident.finding.node_wide:
            hit |= {
                f"{card.node}:{card.gpu}" for node in incident.nodes for card in self._snapshot.on_node[node]
            }
        return len(hit) or len(incident.gpus)

    def _words(self, incident: Incident, jobs: Sequence[dict[str, Any]]) -> dict[str, str]:
        first = jobs[0] if jobs else None
        own = {f"{node}:{gpu}" for node, gpu in incident.gpus}
        others = len([gpu for gpu in first["gpus"] if gpu not in own]) if first else 0
        job = str(first["name"] or first["id"]) if first else ""
        places = join_words([f"{node}:{gpu}" for node, gpu in incident.gpus])
        return {
            **incident.facts,
            "nodes": join_words(incident.nodes),
            "places": places,
            "place": _place(incident, job, places),
            "gpus": pluralize(len(incident.gpus), "GPU"),
            "job": job or "unknown",
            "job_id": first["id"] if first else "JOB",
            "user": (first["user"] or "somebody") if first else "somebody",
            "hurt": _hurt(first, others, incident),
            "value": format_value(incident.value, incident.finding.unit),
            "clock": self._clock(incident),
            "node": incident.nodes[0] if incident.nodes else "?",
            "lasted": format_duration((incident.end_ms or self._snapshot.at_ms) - incident.begin_ms),
            **self._event_words(incident),
        }

    def _event_words(self, incident: Incident) -> dict[str, str]:
        """Return what events said, as parts of a sentence."""
        facts = incident.facts
        told = self._redactor.event({"where": dict(facts), "what": facts.get("told", "")})["what"]
        process, reason = facts.get("process", ""), facts.get("reason", "")
        return {
            "told": told.rstrip("."),
            "because": f": {reason}" if reason else "",
            "process": process or "a process",
            "killed": f" The kernel killed {process}." if process else "",
            "reason": REASONS.get(reason, reason),
        }

    def _clock(self, incident: Incident) -> str:
        """Return at which clock a GPU is, where it is known."""
        hertz = self._snapshot.number("clock", *incident.gpus[0]) if incident.gpus else None
        return f" at {format_value(hertz, 'hertz')}" if hertz is not None else ""


def by_severity(incidents: Sequence[Incident]) -> list[Incident]:
    """Return open incidents before those that are over, the worst first, then the newest."""
    return sorted(
        incidents,
        key=lambda one: (one.end_ms is not None, -RANK[one.severity], -(one.end_ms or one.begin_ms)),
    )


def _sentence(incident: Incident) -> str:
    """Return the sentence that fits: of one place or of many, of what is or of what was."""
    finding = incident.finding
    if len(incident.nodes) > 1 and not finding.by_job:
        return f"{finding.title} on {{nodes}}.{{hurt}}"
    if incident.open:
        return finding.summary
    return finding.resolved_summary or f"{finding.title}: {{place}}, resolved after {{lasted}}.{{hurt}}"


def _action(incident: Incident) -> str:
    finding = incident.finding
    return finding.action if incident.open else finding.resolved_action or finding.action


def _place(incident: Incident, job: str, places: str) -> str:
    if incident.finding.by_job and job:
        return f"job {job} on {places or join_words(incident.nodes)}"
    part = incident.facts.get("device") or incident.facts.get("mountpoint")
    return places or " ".join(filter(None, [join_words(incident.nodes), part]))


def _hurt(job: dict[str, Any] | None, others: int, incident: Incident) -> str:
    """Return whom it costs something beside the place itself."""
    if job is None:
        return ""
    name = job["name"] or job["id"]
    if incident.open and incident.gpus and others and incident.finding.slows_peers:
        return f" Can slow the other {pluralize(others, 'GPU')} of job {name}."
    return f" {'Affects' if incident.open else 'Affected'} job {name}."


def _where(incident: Incident, jobs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the place, or of several the job that they share."""
    if incident.finding.by_job and jobs:
        place = {"job": str(jobs[0]["id"])}
        return {"node": incident.nodes[0], **place} if len(incident.nodes) == 1 else place
    found = {"node": incident.nodes[0]} if incident.nodes else {}
    if len(incident.gpus) == 1:
        found["gpu"] = incident.gpus[0][1]
    if "device" in incident.facts:
        found["device"] = incident.facts["device"]
    return found


def _link(incident: Incident, where: dict[str, str], at_ms: int) -> str:
    """Return the page that shows it, at the minute from which on it can be seen."""
    sighted = incident.begin_ms + incident.finding.lag_ms + MINUTE_MS
    at = f"?at={min(sighted, at_ms) // 1000}"
    node = quote(where.get("node", ""), safe="")
    if "job" in where:
        return f"job/{quote(where['job'], safe='')}{at}"
    if "gpu" in where:
        return f"gpu/{node}/{quote(where['gpu'], safe='')}{at}"
    return f"node/{node}{at}" if node else f"events{at}"
