"""What needs attention, in words: severity, what, where, since when, whom it hits, what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from vigie.findings.core.finding import RANK
from vigie.findings.core.incident import Trouble
from vigie.server.pages.humanize import MINUTE_MS, counted, lasting, listed, shown
from vigie.server.pages.snapshot import Picture
from vigie.server.privacy.redactor import Seen

MOST = 8
REASONS = {  # why a GPU is held back
    "hw_power_brake": "a power brake of the hardware",
    "hw_thermal": "the hardware is too hot",
    "sw_thermal": "the GPU is too hot",
    "hw_slowdown": "a slowdown by the hardware",
}


class Blank(dict[str, str]):
    """Facts of a sentence; what is not known is said as such."""

    def __missing__(self, key: str) -> str:
        """Return a word for what is not known."""
        return "?"


class Attention:
    """Tells the troubles of a picture as one caller sees them."""

    def __init__(self, picture: Picture, seen: Seen) -> None:
        self._picture, self._seen = picture, seen

    def all(self, fits: Callable[[Trouble], bool] = lambda _: True) -> list[dict[str, Any]]:
        """Return the rows of the troubles that fit: open before over, bad before harmless, new before old."""
        return [self.row(trouble) for trouble in ordered(self._picture.troubles) if fits(trouble)]

    def row(self, trouble: Trouble) -> dict[str, Any]:
        """Return one trouble for JSON."""
        finding, jobs = trouble.finding, self._jobs(trouble)
        where, words = _where(trouble, jobs), self._words(trouble, jobs)
        return {
            "id": "/".join([finding.name, *where.values()]),
            "finding": finding.name,
            "title": finding.title,
            "severity": trouble.severity,
            "what": _sentence(trouble).format_map(Blank(words)),
            "where": where,
            "nodes": list(trouble.nodes),
            "since_ms": trouble.begin_ms,
            "until_ms": trouble.end_ms,
            "hits": {
                "jobs": [{"id": job["id"], "name": job["name"] or job["id"]} for job in jobs],
                "users": sorted({job["user"] for job in jobs if job["user"]}),
                "gpus": self._gpus(trouble),
            },
            "do": (finding.do if trouble.open else finding.after or finding.do).format_map(Blank(words)),
            "link": _link(trouble, where, self._picture.at_ms),
        }

    def _jobs(self, trouble: Trouble) -> list[dict[str, Any]]:
        return [self._seen.job(self._picture.jobs[job]) for job in trouble.jobs if job in self._picture.jobs]

    def _gpus(self, trouble: Trouble) -> int:
        """Return how many GPUs it costs: those of the jobs that it hits, or those that it sits on."""
        hit = {
            gpu for job in trouble.jobs if job in self._picture.jobs for gpu in self._picture.jobs[job].gpus
        }
        if trouble.finding.node_wide:
            hit |= {
                f"{card.node}:{card.gpu}" for node in trouble.nodes for card in self._picture.on_node[node]
            }
        return len(hit) or len(trouble.gpus)

    def _words(self, trouble: Trouble, jobs: Sequence[dict[str, Any]]) -> dict[str, str]:
        first = jobs[0] if jobs else None
        own = {f"{node}:{gpu}" for node, gpu in trouble.gpus}
        others = len([gpu for gpu in first["gpus"] if gpu not in own]) if first else 0
        return {
            **trouble.facts,
            "nodes": listed(trouble.nodes),
            "places": listed([f"{node}:{gpu}" for node, gpu in trouble.gpus]),
            "gpus": counted(len(trouble.gpus), "GPU"),
            "job": (first["name"] or first["id"]) if first else "nobody",
            "job_id": first["id"] if first else "JOB",
            "user": (first["user"] or "somebody") if first else "somebody",
            "hurt": _hurt(first, others, trouble),
            "value": shown(trouble.value, trouble.finding.unit),
            "value_of": f" ({shown(trouble.value, trouble.finding.unit)})"
            if trouble.value is not None
            else "",
            "clock": self._clock(trouble),
            "node": trouble.nodes[0] if trouble.nodes else "?",
            "lasted": lasting((trouble.end_ms or self._picture.at_ms) - trouble.begin_ms),
            **self._told(trouble),
        }

    def _told(self, trouble: Trouble) -> dict[str, str]:
        """Return what events said, as parts of a sentence."""
        facts = trouble.facts
        told = self._seen.event({"where": dict(facts), "what": facts.get("told", "")})["what"]
        process, reason = facts.get("process", ""), facts.get("reason", "")
        return {
            "told": told.rstrip("."),
            "because": f": {reason}" if reason else "",
            "process": process or "a process",
            "killed": f" The kernel has killed {process}." if process else "",
            "reason": REASONS.get(reason, reason),
        }

    def _clock(self, trouble: Trouble) -> str:
        """Return at which clock a GPU is, where it is known."""
        hertz = self._picture.number("clock", *trouble.gpus[0]) if trouble.gpus else None
        return f" at {shown(hertz, 'hertz')}" if hertz is not None else ""


def ordered(troubles: Sequence[Trouble]) -> list[Trouble]:
    """Return open troubles before those that are over, the worst first, then the newest."""
    return sorted(
        troubles,
        key=lambda one: (one.end_ms is not None, -RANK[one.severity], -(one.end_ms or one.begin_ms)),
    )


def _sentence(trouble: Trouble) -> str:
    """Return the sentence that fits: of one place or of many, of what is or of what was."""
    finding = trouble.finding
    if len(trouble.nodes) > 1 and not finding.by_job:
        return f"{finding.title.capitalize()} on {{nodes}}{{hurt}}."
    if trouble.open:
        return finding.what
    return finding.was or f"{finding.what} That is over."


def _hurt(job: dict[str, Any] | None, others: int, trouble: Trouble) -> str:
    """Return whom it costs something beside the place itself."""
    if job is None:
        return ""
    name = job["name"] or job["id"]
    if trouble.gpus and others and trouble.finding.chip == "straggler":
        waiting = f"{counted(others, 'other GPU')} of job {name}"
        return f"; the {waiting} {'wait' if others > 1 else 'waits'} for it"
    return f"; it {'hits' if trouble.open else 'hit'} job {name}"


def _where(trouble: Trouble, jobs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the place, or of several the job that they share."""
    if trouble.finding.by_job and jobs:
        place = {"job": str(jobs[0]["id"])}
        return {"node": trouble.nodes[0], **place} if len(trouble.nodes) == 1 else place
    found = {"node": trouble.nodes[0]} if trouble.nodes else {}
    if len(trouble.gpus) == 1:
        found["gpu"] = trouble.gpus[0][1]
    if "device" in trouble.facts:
        found["device"] = trouble.facts["device"]
    return found


def _link(trouble: Trouble, where: dict[str, str], at_ms: int) -> str:
    """Return the page that shows it, at the minute from which on it can be seen."""
    sighted = trouble.begin_ms + trouble.finding.lag_ms + MINUTE_MS
    at = f"?at={min(sighted, at_ms) // 1000}"
    node = quote(where.get("node", ""), safe="")
    if "job" in where:
        return f"job/{quote(where['job'], safe='')}{at}"
    if "gpu" in where:
        return f"gpu/{node}/{quote(where['gpu'], safe='')}{at}"
    return f"node/{node}{at}" if node else f"events{at}"
