"""The trainers that poll on this node, and what each is to fetch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from vigie.trace.kineto.datagrams import Poll

EXPIRY_SECONDS = 60.0  # without a poll; a living trainer polls every 5 s
YOUNG_SECONDS = 20.0  # before its first steps a trainer would record its start-up instead of iterations
MAX_TRAINERS = 1024
MAX_ENDPOINTS = 8  # of one process; some versions of torch open two


@dataclass(slots=True)
class Assignment:
    """A configuration for one trainer."""

    key: str  # which session wants it
    text: str
    hold_seconds: float  # after it was fetched, until the trainer can take another
    counts_iterations: bool = False
    fetched_at: float | None = None


@dataclass(slots=True)
class Trainer:
    """A process that polls. Its pid is the node's; `pids` are it and its ancestors as it sees them."""

    pid: int
    uid: int
    job_id: int
    pids: tuple[int, ...]
    first_seen: float
    last_seen: float
    is_tracing: bool = False
    endpoints: set[bytes] = field(default_factory=set)
    pending: Assignment | None = None
    fetched: Assignment | None = None

    def is_busy(self, now: float) -> bool:
        """Return whether a configuration is under way: a second one would be fetched and ignored."""
        if self.pending is not None or self.is_tracing:
            return True
        fetched = self.fetched
        return fetched is not None and now < (fetched.fetched_at or 0.0) + fetched.hold_seconds

    def is_young(self, now: float) -> bool:
        return now - self.first_seen < YOUNG_SECONDS


class TrainerRegistry:
    """Remembers every trainer that polled within the last minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._trainers: dict[int, Trainer] = {}

    def __iter__(self) -> Iterator[Trainer]:
        self.expire()
        return iter(list(self._trainers.values()))

    def get(self, pid: int) -> Trainer | None:
        self.expire()
        return self._trainers.get(pid)

    def record_poll(self, pid: int, uid: int, poll: Poll, endpoint: bytes) -> Trainer | None:
        """Note a poll and return its trainer, or None where there are too many."""
        now = self._clock()
        trainer = self._trainers.get(pid)
        if trainer is None or (trainer.uid, trainer.pids) != (uid, poll.pids):
            if trainer is None and len(self._trainers) >= MAX_TRAINERS:
                self.expire()
                if len(self._trainers) >= MAX_TRAINERS:
                    return None
            trainer = Trainer(pid, uid, poll.job_id, poll.pids, now, now)
            self._trainers[pid] = trainer
        trainer.last_seen = now
        trainer.job_id = poll.job_id
        trainer.is_tracing = not poll.is_ready
        if len(trainer.endpoints) < MAX_ENDPOINTS:
            trainer.endpoints.add(endpoint)
        return trainer

    def choose_config(self, trainer: Trainer) -> Assignment | None:
        """Return what the trainer may fetch with this poll."""
        pending = trainer.pending
        if pending is None or trainer.is_tracing:
            return None
        if pending.counts_iterations and trainer.is_young(self._clock()):
            return None
        return pending

    def mark_fetched(self, trainer: Trainer, assignment: Assignment) -> None:
        """Clear what was pending; called only after the datagram was sent."""
        assignment.fetched_at = self._clock()
        trainer.fetched, trainer.pending = assignment, None

    def assign(self, trainer: Trainer, assignment: Assignment) -> bool:
        """Have the trainer fetch a configuration, unless it is busy."""
        if trainer.is_busy(self._clock()):
            return False
        trainer.pending = assignment
        return True

    def cancel(self, key: str) -> int:
        """Take back what no trainer has fetched yet, and return how many that were."""
        trainers = [t for t in self._trainers.values() if t.pending is not None and t.pending.key == key]
        for trainer in trainers:
            trainer.pending = None
        return len(trainers)

    def expire(self) -> None:
        """Forget trainers that have stopped polling."""
        oldest = self._clock() - EXPIRY_SECONDS
        for pid in [pid for pid, trainer in self._trainers.items() if trainer.last_seen < oldest]:
            del self._trainers[pid]
