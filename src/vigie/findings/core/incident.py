"""Incidents: occurrences of one finding merged, and effects put under their cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from vigie.findings.core.finding import MINUTE_MS, RANK, Finding
from vigie.findings.core.occurrence import Occurrence

Place = tuple[str, str]  # a node and the index of one of its GPUs
JobsAt = Callable[[str, str, int, int | None], Sequence[str]]  # jobs on a node or GPU in a span

SAME_MS = 15 * MINUTE_MS  # an occurrence at the same place within this time is the same incident
AT_ONCE_MS = 3 * MINUTE_MS  # incidents that began within this time may share a cause
MIN_WAVE = 4  # places of one finding at once are one incident


class Incident(NamedTuple):
    """A finding that holds or held, with its places, times and affected jobs."""

    finding: Finding
    nodes: tuple[str, ...]
    gpus: tuple[Place, ...]
    begin_ms: int
    end_ms: int | None
    facts: Mapping[str, str]  # labels and texts for its sentences
    jobs: tuple[str, ...]
    severity: str
    value: float | None = None

    @property
    def open(self) -> bool:
        """Tell whether it still holds."""
        return self.end_ms is None


def build_incidents(occurrences: Iterable[Occurrence], jobs_at: JobsAt) -> list[Incident]:
    """Return the incidents, each once, effects under their cause."""
    found = [_to_incident(one, jobs_at) for one in _merge_touching(occurrences)]
    return _group_by_cause(_group_waves(_group_by_job(found)))


def _merge_touching(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """Merge occurrences of one place that touch in time: samples and events report the same."""
    known: dict[tuple[str, tuple[str, ...]], list[Occurrence]] = {}
    for one in sorted(occurrences, key=lambda one: one.begin_ms):
        before = known.setdefault((one.finding.name, one.place), [])
        if before and (before[-1].end_ms is None or one.begin_ms <= before[-1].end_ms + SAME_MS):
            before[-1] = _merge(before[-1], one)
        else:
            before.append(one)
    return [one for group in known.values() for one in group]


def _merge(first: Occurrence, second: Occurrence) -> Occurrence:
    end = None if None in (first.end_ms, second.end_ms) else max(first.end_ms or 0, second.end_ms or 0)
    reported = first if first.told else second  # an event knows its time exactly
    begin = (
        reported.begin_ms
        if reported.told and reported.finding.lasts
        else min(first.begin_ms, second.begin_ms)
    )
    return reported._replace(
        labels={**second.labels, **first.labels},
        begin_ms=begin,
        end_ms=end,
        value=second.value if second.value is not None else first.value,
        severity=max(first.severity, second.severity, key=lambda word: RANK.get(word, -1)),
    )


def _to_incident(one: Occurrence, jobs_at: JobsAt) -> Incident:
    node, gpu = one.labels.get("instance", ""), one.labels.get("gpu", "")
    holder = one.labels.get("holder", "")
    jobs = [holder] if holder else jobs_at(node, gpu, one.begin_ms, one.end_ms)
    places = ((node, gpu),) if gpu else ()
    facts = {**one.labels, **({"told": one.told} if one.told else {})}
    finding = one.finding
    severity = one.severity if finding.event_severity and one.severity else finding.severity
    return Incident(
        finding, (node,), places, one.begin_ms, one.end_ms, facts, tuple(jobs), severity, one.value
    )


def _group_by_job(found: Sequence[Incident]) -> list[Incident]:
    """Merge all places of a job where the finding is about jobs."""
    jobs: dict[tuple[str, str], list[Incident]] = {}
    for one in sorted(found, key=lambda incident: incident.begin_ms):
        if one.finding.by_job and one.jobs:
            mine = jobs.setdefault((one.finding.name, one.jobs[0]), [])
            last = mine[-1].end_ms if mine else 0
            if mine and (last is None or one.begin_ms <= last + SAME_MS):
                mine[-1] = _merge_incidents([mine[-1], one])
            else:
                mine.append(one)
    rest = [one for one in found if not (one.finding.by_job and one.jobs)]
    return [*rest, *(one for mine in jobs.values() for one in mine)]


def _group_waves(found: Sequence[Incident]) -> list[Incident]:
    """Merge incidents of one finding that began at many places within minutes."""
    grouped: list[Incident] = []
    waves: dict[str, list[list[Incident]]] = {}
    for one in sorted(found, key=lambda incident: incident.begin_ms):
        if one.finding.by_job:
            grouped.append(one)
            continue
        mine = waves.setdefault(one.finding.name, [])
        if mine and one.begin_ms - mine[-1][0].begin_ms <= AT_ONCE_MS and mine[-1][0].open == one.open:
            mine[-1].append(one)
        else:
            mine.append([one])
    for wave in (wave for mine in waves.values() for wave in mine):
        grouped += [_merge_incidents(wave)] if len(wave) >= MIN_WAVE else wave
    return grouped


def _merge_incidents(group: Sequence[Incident]) -> Incident:
    first = group[0]
    if len(group) == 1:
        return first
    ends = [one.end_ms for one in group]
    return first._replace(
        nodes=tuple(dict.fromkeys(node for one in group for node in one.nodes)),
        gpus=tuple(dict.fromkeys(place for one in group for place in one.gpus)),
        begin_ms=min(one.begin_ms for one in group),
        end_ms=None if None in ends else max(end for end in ends if end is not None),
        jobs=tuple(dict.fromkeys(job for one in group for job in one.jobs)),
    )


def _group_by_cause(found: Sequence[Incident]) -> list[Incident]:
    """Return the causes; an effect lends its cause its time and its facts, and is left out."""
    return [
        _absorb(one, [other for other in found if _explains(one, other)])
        for one in found
        if not any(_explains(other, one) for other in found if other is not one)
    ]


def _absorb(cause: Incident, effects: Sequence[Incident]) -> Incident:
    facts = dict(cause.facts)
    for effect in effects:
        facts.setdefault("told", effect.facts.get("told", ""))
        facts.update({name: effect.facts.get(name, "") for name in effect.finding.lends})
    jobs = dict.fromkeys([*cause.jobs, *(job for effect in effects for job in effect.jobs)])
    begin = min([cause.begin_ms, *(effect.begin_ms for effect in effects)])
    return cause._replace(facts=facts, jobs=tuple(jobs), begin_ms=begin)


def _follows(cause: Incident, effect: Incident) -> bool:
    """Tell whether an incident began during or just before another, and did not outlast it."""
    if effect.begin_ms < cause.begin_ms - AT_ONCE_MS:
        return False
    if cause.end_ms is None:
        return True
    outlives = effect.open and effect.finding.lasts
    return effect.begin_ms <= cause.end_ms + AT_ONCE_MS and not outlives


def _explains(cause: Incident, effect: Incident) -> bool:
    related = (
        effect.finding.name in cause.finding.explains or cause.finding.name in effect.finding.explained_by
    )
    if not related or not _follows(cause, effect):
        return False
    if cause.finding.by_job and effect.finding.by_job:
        return bool(set(cause.jobs) & set(effect.jobs))
    if not set(effect.nodes) <= set(cause.nodes):
        return False
    here = set(effect.gpus) <= set(cause.gpus) if cause.gpus and effect.gpus else True
    device, other = cause.facts.get("device"), effect.facts.get("device")
    return here and (device == other or not device or not other)
