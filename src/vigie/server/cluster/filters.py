"""Which bindings and jobs to find."""

from __future__ import annotations

from typing import Any, NamedTuple

JOB, QUEUE, NODE = "job", "queue", "node"
HELD_GPUS = "held_gpus"  # the fact of how many GPUs a job had on a node, where nobody said which
HELD, ENDED = "held", "ended"
TOLD, GUESSED, UNHEARD = 0, 1, 2  # how we know that a binding has ended


class BindingFilter(NamedTuple):
    """Which bindings to find; an empty field means any."""

    node: str = ""
    gpu: str = ""
    user: str = ""
    job: str = ""
    kind: str = ""
    state: str = ""  # held or ended; of a job: waiting, running, finished, unknown
    since_ms: int | None = None
    until_ms: int | None = None

    def condition(self) -> tuple[str, list[Any]]:
        """Return the SQL condition on bindings and its parameters."""
        words = {"node": self.node, "user": self.user, "holder": self.job, "kind": self.kind}
        parts = [f"{name} = ?" for name, word in words.items() if word]
        values: list[Any] = [word for word in words.values() if word]
        if self.gpu:
            parts.append("resource = ?")
            values.append(f"gpu:{self.gpu}")
        if self.job:
            parts.append("kind = 'job'")
        if self.state:
            parts.append(f"to_ms is {'' if self.state == HELD else 'not '}null")
        more, times = self.during("from_ms", "to_ms")
        return " and ".join([*parts, *more]) or "1", [*values, *times]

    def during(self, begin: str, end: str) -> tuple[list[str], list[Any]]:
        """Return the conditions that something overlaps the span, and their parameters."""
        parts, values = [], []
        if self.since_ms is not None:
            parts.append(f"({end} is null or {end} >= ?)")
            values.append(self.since_ms)
        if self.until_ms is not None:
            parts.append(f"{begin} <= ?")
            values.append(self.until_ms)
        return parts, values


ANY = BindingFilter()
