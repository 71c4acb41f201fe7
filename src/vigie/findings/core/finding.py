"""The shape of a diagnosis: when it holds, what is said of it, and what is to be done."""

from __future__ import annotations

from typing import NamedTuple

CRITICAL, WARNING, INFO = "critical", "warning", "info"
RANK = {INFO: 0, WARNING: 1, CRITICAL: 2}
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
# The labels of a sighting by which its place is known, and those that tell more.
PLACE = ("instance", "gpu", "device", "port", "holder", "mountpoint", "source")
LABELS = (*PLACE, "reason", "link", "fault")


class Finding(NamedTuple):
    """One diagnosis as data.

    `what` and `do` are sentences with places for what is known of a sighting: {node}, {gpu}, {device} and
    the other labels, {value}, {job}, {user}, {places}, {hurt} (whom it costs something), {told} (an event).
    """

    name: str  # as people, pages and alerts call it
    title: str  # a few words, for a cell or a row
    severity: str
    what: str
    do: str
    when: str = ""  # PromQL; each series of the answer is a sighting
    events: tuple[str, ...] = ()  # kinds of events that tell of it, too
    lasts: bool = True  # an event without an end goes on; else it was a moment
    fresh_ms: int = 0  # for how long a moment still needs somebody
    chip: str = ""  # a word or two beside a job that it hits
    lag_ms: int = 0  # for how long it has been so when the query first tells
    tail_ms: int = 0  # for how long the query still tells of it when it is over
    was: str = ""  # the sentence when it is over; {lasted} tells how long it was
    after: str = ""  # what to do then, where it is something else than before
    by_job: bool = False  # all places of a job are one trouble
    explains: tuple[str, ...] = ()  # findings that follow from it, at the same place or job
    unit: str = ""  # of the value that the query gives
    node_wide: bool = False  # it takes all GPUs of the node
    unheard: bool = False  # nothing is heard of the node, so it is over when something is
