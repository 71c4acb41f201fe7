"""Troubles: sightings of one thing made one, and what follows from another left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from vigie.findings.core.finding import MINUTE_MS, RANK, Finding
from vigie.findings.core.occurrence import Occurrence

Place = tuple[str, str]  # a node and the index of one of its GPUs
JobsAt = Callable[[str, str, int, int | None], Sequence[str]]  # jobs on a node or GPU in a span

TOGETHER_MS = 15 * MINUTE_MS  # what is seen again at a place within this time is the same thing
AT_ONCE_MS = 3 * MINUTE_MS  # what began together did so within this time
MANY = 4  # of the same, at the same time: one cause


class Incident(NamedTuple):
    """Something that is wrong or was: a diagnosis with its places, its times, and whom it hits."""

    finding: Finding
    nodes: tuple[str, ...]
    gpus: tuple[Place, ...]
    begin_ms: int
    end_ms: int | None
    facts: Mapping[str, str]  # labels and words for its sentence
    jobs: tuple[str, ...]
    severity: str
    value: float | None = None

    @property
    def open(self) -> bool:
        """Tell whether it still is so."""
        return self.end_ms is None


def build_incidents(sightings: Iterable[Occurrence], jobs_at: JobsAt) -> list[Incident]:
    """Return what is wrong, each thing once, under its cause."""
    found = [_trouble(sighting, jobs_at) for sighting in _joined(sightings)]
    return _caused(_together(found))


def _joined(sightings: Iterable[Occurrence]) -> list[Occurrence]:
    """Return sightings of one place that touch in time as one: samples and events tell of the same."""
    known: dict[tuple[str, tuple[str, ...]], list[Occurrence]] = {}
    for one in sorted(sightings, key=lambda sighting: sighting.begin_ms):
        before = known.setdefault((one.finding.name, one.place), [])
        if before and (before[-1].end_ms is None or one.begin_ms <= before[-1].end_ms + TOGETHER_MS):
            before[-1] = _merged(before[-1], one)
        else:
            before.append(one)
    return [one for group in known.values() for one in group]


def _merged(first: Occurrence, second: Occurrence) -> Occurrence:
    end = None if None in (first.end_ms, second.end_ms) else max(first.end_ms or 0, second.end_ms or 0)
    told = first if first.told else second  # an event knows its time to the moment
    begin = told.begin_ms if told.told and told.finding.lasts else min(first.begin_ms, second.begin_ms)
    return told._replace(
        labels={**second.labels, **first.labels},
        begin_ms=begin,
        end_ms=end,
        value=second.value if second.value is not None else first.value,
        severity=max(first.severity, second.severity, key=lambda word: RANK.get(word, -1)),
    )


def _trouble(one: Occurrence, jobs_at: JobsAt) -> Incident:
    node, gpu = one.labels.get("instance", ""), one.labels.get("gpu", "")
    holder = one.labels.get("holder", "")
    jobs = [holder] if holder else jobs_at(node, gpu, one.begin_ms, one.end_ms)
    places = ((node, gpu),) if gpu else ()
    facts = {**one.labels, **({"told": one.told} if one.told else {})}
    severity = one.severity if one.finding.name == "xid" and one.severity else one.finding.severity
    return Incident(
        one.finding, (node,), places, one.begin_ms, one.end_ms, facts, tuple(jobs), severity, one.value
    )


def _together(found: Sequence[Incident]) -> list[Incident]:
    """Return all places of a job as one where the diagnosis is about jobs, and many at once as one."""
    jobs: dict[tuple[str, str], list[Incident]] = {}
    for one in sorted(found, key=lambda trouble: trouble.begin_ms):
        if one.finding.by_job and one.jobs:
            mine = jobs.setdefault((one.finding.name, one.jobs[0]), [])
            last = mine[-1].end_ms if mine else 0
            if mine and (last is None or one.begin_ms <= last + TOGETHER_MS):
                mine[-1] = _one([mine[-1], one])
            else:
                mine.append(one)
    whole = [one for one in found if not (one.finding.by_job and one.jobs)]
    return _at_once([*whole, *(one for mine in jobs.values() for one in mine)])


def _at_once(found: Sequence[Incident]) -> list[Incident]:
    """Return what came over many places in the same minutes as one trouble."""
    kept: list[Incident] = []
    waves: dict[str, list[list[Incident]]] = {}
    for one in sorted(found, key=lambda trouble: trouble.begin_ms):
        if one.finding.by_job:
            kept.append(one)
            continue
        mine = waves.setdefault(one.finding.name, [])
        if mine and one.begin_ms - mine[-1][0].begin_ms <= AT_ONCE_MS and mine[-1][0].open == one.open:
            mine[-1].append(one)
        else:
            mine.append([one])
    for wave in (wave for mine in waves.values() for wave in mine):
        kept += [_one(wave)] if len(wave) >= MANY else wave
    return kept


def _one(group: Sequence[Incident]) -> Incident:
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


def _caused(found: Sequence[Incident]) -> list[Incident]:
    """Return the causes; what a cause explains lends it its time and its words, and is told no more."""
    return [
        _enriched(one, [other for other in found if _explains(one, other)])
        for one in found
        if not any(_explains(other, one) for other in found if other is not one)
    ]


def _enriched(cause: Incident, effects: Sequence[Incident]) -> Incident:
    facts = dict(cause.facts)
    for effect in effects:
        facts.setdefault("told", effect.facts.get("told", ""))
        if effect.finding.name == "oom-kill":
            facts["process"] = effect.facts.get("process", "")
    jobs = dict.fromkeys([*cause.jobs, *(job for effect in effects for job in effect.jobs)])
    begin = min([cause.begin_ms, *(effect.begin_ms for effect in effects)])
    return cause._replace(facts=facts, jobs=tuple(jobs), begin_ms=begin)


def _follows(cause: Incident, effect: Incident) -> bool:
    """Tell whether one thing began while or just before another was, and did not go on after it."""
    if effect.begin_ms < cause.begin_ms - AT_ONCE_MS:
        return False
    if cause.end_ms is None:
        return True
    outlives = effect.open and effect.finding.lasts
    return effect.begin_ms <= cause.end_ms + AT_ONCE_MS and not outlives


def _explains(cause: Incident, effect: Incident) -> bool:
    if effect.finding.name not in cause.finding.explains:
        return False
    if not _follows(cause, effect):
        return False
    if cause.finding.by_job and effect.finding.by_job:
        return bool(set(cause.jobs) & set(effect.jobs))
    if not set(effect.nodes) <= set(cause.nodes):
        return False
    here = set(effect.gpus) <= set(cause.gpus) if cause.gpus and effect.gpus else True
    device, other = cause.facts.get("device"), effect.facts.get("device")
    return here and (device == other or not device or not other)
