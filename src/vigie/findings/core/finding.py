"""What a finding declares: when it holds, what it means, and what to do."""

from __future__ import annotations

from typing import NamedTuple

CRITICAL, WARNING, INFO = "critical", "warning", "info"
RANK = {INFO: 0, WARNING: 1, CRITICAL: 2}
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
# Labels that say where an occurrence is, and those that say more about it.
PLACE = ("instance", "gpu", "device", "port", "holder", "mountpoint", "source")
LABELS = (*PLACE, "reason", "link", "fault")


class Finding(NamedTuple):
    """One diagnosis as data; its name is that of its file.

    Sentences have placeholders: {node}, {gpu}, {device} and the other labels, {value}, {job}, {user},
    {places}, {told} (the text of an event) and {hurt} (a sentence about the job that it affects).
    """

    title: str
    severity: str
    summary: str
    action: str
    query: str = ""  # PromQL; each series of its result is an occurrence
    events: tuple[str, ...] = ()  # kinds of events that are occurrences, too
    lasts: bool = True  # an event without an end goes on; else it was a moment
    fresh_ms: int = 0  # for how long a moment stays open
    lag_ms: int = 0  # how long it has held when the query first matches
    tail_ms: int = 0  # how long the query still matches when it no longer holds
    resolved_summary: str = ""  # instead of "{title}: {place}, resolved after {lasted}."
    resolved_action: str = ""  # where it differs from the action
    badge: str = ""  # a word or two next to an affected job
    by_job: bool = False  # all places of a job are one incident
    explains: tuple[str, ...] = ()  # findings that follow from this one, at the same place or job
    explained_by: tuple[str, ...] = ()  # the same, declared by what follows
    lends: tuple[str, ...] = ()  # facts that the cause takes over
    event_severity: bool = False  # the event knows its severity better
    slows_peers: bool = False  # the other GPUs of the job wait for this one
    unit: str = ""  # of the query's value
    node_wide: bool = False  # it affects all GPUs of the node
    while_silent: bool = False  # it ends as soon as the node sends again
    alert_after: str = ""  # how long Prometheus waits before it alerts; empty: no alert
    name: str = ""  # set by the registry
