"""Asks the controller within a budget, on a thread of its own, and less often when it is slow."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Callable

from vigie.sources.core.command import CommandError
from vigie.workload.slurm.commands import (
    CONFIG,
    DIAGNOSTICS,
    JOBS,
    NODES,
    PARTITIONS,
    PING,
    SHARES,
    Commands,
)
from vigie.workload.slurm.config import Config, is_here, parse_config, parse_ping
from vigie.workload.slurm.diagnostics import parse_diagnostics
from vigie.workload.slurm.endpoint import Scrape, scrape_controller
from vigie.workload.slurm.jobs import parse_jobs
from vigie.workload.slurm.nodes import Node, parse_nodes
from vigie.workload.slurm.records import split_fields
from vigie.workload.slurm.samples import ClusterState
from vigie.workload.slurm.shares import parse_fair_shares
from vigie.workload.slurm.summary import JobSummary

SELDOM = 5  # intervals between two readings of shares, partitions and configuration
SLOW_SECONDS = 2.0  # a reply that takes longer is that of a busy controller
BUSY_THREADS = 128  # of 256 that slurmctld has for its clients
MAX_INTERVAL = 16 * 60.0
LOOPBACK = "127.0.0.1"
EARLY = 1.0  # a poll may come so much before its time, since ticks are not exact


class Poller:
    """Keeps the newest state of a cluster."""

    def __init__(self, commands: Commands, clock: Callable[[], float], interval: float) -> None:
        self.commands = commands
        self.interval = self.least_interval = interval
        self.state: ClusterState | None = None
        self.config = Config()
        self.error = ""
        self.active = True  # whether this machine is the one that asks
        self.polls = 0  # that brought a state
        self.replied_at = clock()
        self._clock = clock
        self._due = float("-inf")
        self._seldom_due = float("-inf")
        self.scrape = Scrape()
        self._partitions: tuple[str, ...] = ()
        self._shares: dict[str, float] = {}
        self._done = threading.Event()
        self._done.set()

    @property
    def is_asking(self) -> bool:
        return not self._done.is_set()

    def refresh(self, patience: float, before: tuple[str, ...] = (), here: str = "") -> None:
        """Begin a poll if one is due, and wait for it a little; controllers named in `before` go first."""
        now = self._clock()
        if now >= self._due - EARLY and not self.is_asking:
            self._due = max(self._due + self.interval, now + self.interval - EARLY)
            self._done.clear()
            threading.Thread(target=self._run, args=(before, here), name="slurm", daemon=True).start()
        self._done.wait(patience)

    def _run(self, before: tuple[str, ...], here: str) -> None:
        try:
            self._poll(before, here)
        except CommandError as error:
            self.error = str(error)
            self._adjust(slow=True)
        finally:
            self._done.set()

    def _poll(self, before: tuple[str, ...], here: str) -> None:
        """Ask all that is due; the first failure ends it, since the rest would wait as long."""
        if before and not self._takes_over(before, here):
            return
        self.active = True
        self.commands.slowest = 0.0
        jobs = self.commands.ask(JOBS, lambda lines: JobSummary(parse_jobs(lines)))
        if jobs.invalid and not jobs.total:
            raise CommandError(f"scontrol printed no job records: {jobs.invalid[0]}")
        nodes = self._ask_nodes()
        diagnostics = self.commands.ask(DIAGNOSTICS, parse_diagnostics)
        self._ask_seldom()
        self.scrape = scrape_controller(LOOPBACK, self.config.port) if self.config.metrics else Scrape()
        self.state = ClusterState(
            jobs, nodes, self._partitions, diagnostics, self._shares, round(self._clock() * 1000)
        )
        self.error, self.replied_at, self.polls = "", self._clock(), self.polls + 1
        busy = diagnostics.get("threads", 0) >= BUSY_THREADS
        self._adjust(slow=busy or self.commands.slowest > SLOW_SECONDS)

    def _ask_nodes(self) -> tuple[Node, ...]:
        """Return the nodes; none where PrivateData hides them."""
        try:
            return self.commands.ask(NODES, _take_nodes)
        except CommandError as error:
            if "permission denied" in str(error):
                return ()
            raise

    def _takes_over(self, before: tuple[str, ...], here: str) -> bool:
        """Tell whether this backup is in charge: every controller before it is down."""
        up = self.commands.ask(PING, _collect_ping)
        self.active = not any(up.get(name, False) for name in before) and any(
            answers and is_here(name, here) for name, answers in up.items()
        )
        return self.active

    def _ask_seldom(self) -> None:
        """Ask what changes seldom; without it the rest is still true."""
        now = self._clock()
        if now < self._seldom_due - EARLY:
            return
        self._seldom_due = now + SELDOM * self.least_interval
        for command, take in ((CONFIG, self._take_config), (PARTITIONS, self._take_partitions)):
            try:
                self.commands.ask(command, take)
            except CommandError:  # noqa: PERF203 - each fails for itself; its reply keeps the reason
                continue
        try:
            self._shares = self.commands.ask(SHARES, parse_fair_shares)
        except CommandError:
            self._shares = {}  # no accounting, or not for us

    def _take_config(self, lines: Iterable[str]) -> None:
        self.config = parse_config(lines)

    def _take_partitions(self, lines: Iterable[str]) -> None:
        fields = [dict(split_fields(line)) for line in lines]
        self._partitions = tuple(one["PartitionName"] for one in fields if "PartitionName" in one)

    def _adjust(self, *, slow: bool) -> None:
        """Ask half as often while the controller is slow or silent, and come back step by step."""
        if not slow:
            self.interval = max(self.interval / 2, self.least_interval)
            return
        self.interval = max(min(self.interval * 2, MAX_INTERVAL), self.least_interval)
        self._due = max(self._due, self._clock() + self.interval)

    def hidden_data(self, uid: int) -> list[str]:
        """Return which data of others PrivateData hides from a user."""
        if uid in (0, self.config.slurm_uid):
            return []
        return sorted(self.config.private & {"jobs", "nodes", "partitions", "usage"})


def _take_nodes(lines: Iterable[str]) -> tuple[Node, ...]:
    return tuple(node for node in parse_nodes(lines) if isinstance(node, Node))


def _collect_ping(lines: Iterable[str]) -> dict[str, bool]:
    """Return who is up; the command fails when the primary is down, and has said it all by then."""
    said: list[str] = []
    try:
        for line in lines:
            said.append(line)  # noqa: PERF402 - what came before a failure counts
    except CommandError:
        if not said:
            raise
    return parse_ping(said)
