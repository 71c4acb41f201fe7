"""The cluster at one moment: every GPU and node, who holds what, and what is wrong. Nothing is hidden yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vigie.findings.core.incident import Incident
from vigie.model import Binding
from vigie.server.cluster.bindings import StoredBinding
from vigie.server.cluster.jobs import RUNNING, WAITING, JobRecord
from vigie.server.cluster.nodes import LOST, UP, NodeRecord
from vigie.server.pages.queries import IDLE, PLAIN, WORKING
from vigie.server.pages.query_batch import BatchResult, Key
from vigie.wire.api.rows import JobState

Place = tuple[str, str]  # a node and the index of one of its GPUs
UNHEARD = "unheard"  # a node of which only samples tell, and not at this moment
JOB = "job"
YOUNG = "vigie has watched for less than 10 minutes, and some incidents take longer to show"
SEVERAL = ("throttled", "mig")  # questions that have several answers about a GPU


class GpuInfo(NamedTuple):
    node: str
    gpu: str
    uuid: str = ""
    model: str = ""
    vendor: str = ""
    driver: str = ""
    pci_bus_id: str = ""

    @property
    def place(self) -> Place:
        return self.node, self.gpu


class GpuInfos(dict[str, list[GpuInfo]]):
    """The GPUs of each node; to ask for those of a node without any changes nothing, in any thread."""

    def __missing__(self, node: str) -> list[GpuInfo]:
        return []


class Snapshot:
    def __init__(
        self,
        at_ms: int,
        found: BatchResult,
        cards: Mapping[Place, GpuInfo],
        nodes: Sequence[NodeRecord],
        held: Sequence[StoredBinding],
        jobs: Sequence[JobRecord],
        *,
        live: bool,
        missing: str,
    ) -> None:
        self.at_ms, self.live, self.missing = at_ms, live, missing
        self.cards, self.jobs = cards, {job.id: job for job in jobs}
        self.incidents: Sequence[Incident] = ()
        self.unfinished = False  # the samples are still being looked at for what is wrong
        self.young = False  # nothing was watched ten minutes before
        self.held: dict[Place, list[StoredBinding]] = defaultdict(list)
        for stored in held:
            if stored.binding.gpu:
                self.held[stored.node, stored.binding.gpu].append(stored)
        self.bindings = held
        self._further: dict[tuple[str, Place], list[Key]] = defaultdict(list)
        for name in SEVERAL:
            for node, gpu, *rest in found.numbers(name):
                self._further[name, (node, gpu)].append(tuple(rest))
        self._numbers = {name: found.numbers(name) for name in found.rows if name != "plain"}
        plain: dict[str, dict[Key, float]] = {name: {} for name in PLAIN}
        for (name, *place), value in found.numbers("plain").items():
            plain[name][tuple(place)] = value
        self._numbers.update((PLAIN[name], numbers) for name, numbers in plain.items())
        self.errors = found.errors
        self.nodes = {node.name: node for node in nodes}
        for name in sorted({card.node for card in cards.values()} | {name for (name,) in self.all("up")}):
            self.nodes.setdefault(name, NodeRecord(name, UNHEARD))
        self.on_node = GpuInfos()
        for card in sorted(cards.values(), key=_order):
            self.on_node.setdefault(card.node, []).append(card)

    def number(self, name: str, *key: str) -> float | None:
        """Return the answer to a question about a GPU or node, or nothing."""
        return self._numbers.get(name, {}).get(key)

    def all(self, name: str) -> Mapping[Key, float]:
        """Return all answers to a question."""
        return self._numbers.get(name, {})

    def states(self, name: str, place: Place) -> list[Key]:
        """Return the further labels of all series about a GPU."""
        return self._further.get((name, place), [])

    def node_state(self, name: str) -> str:
        """Return how a node is: as the registry says of now, and as `up` says of the past."""
        if self.live and self.nodes[name].state != UNHEARD:
            return self.nodes[name].state
        up = self.number("up", name)
        return UNHEARD if up is None else UP if up else LOST

    def is_up(self, name: str) -> bool:
        return name in self.nodes and self.node_state(name) == UP

    @property
    def unsure(self) -> str:
        """Return why not all that is wrong is known yet, or nothing."""
        return self.errors.get("findings", "") or (YOUNG if self.young else "")

    def present(self, place: Place) -> bool:
        """Tell whether a GPU answers."""
        return self.number("info", *self.cards[place]) is not None

    def working(self, place: Place) -> bool | None:
        """Tell whether a GPU did something in the last five minutes."""
        busy = self.number("busy_5m", *place)
        return None if busy is None else busy >= WORKING

    def idle(self, place: Place) -> bool | None:
        """Tell whether a GPU did nothing at all in the last ten minutes."""
        most = self.number("busy_max", *place)
        return None if most is None else most < IDLE

    def running(self) -> list[JobRecord]:
        """Return the jobs that run, those with most GPUs first."""
        return sorted(self._in(RUNNING), key=lambda job: (-len(job.gpus), -len(job.nodes), job.start_ms))

    def waiting(self) -> list[JobRecord]:
        """Return the jobs that wait, the oldest first."""
        return sorted(self._in(WAITING), key=lambda job: job.queued_ms or job.start_ms)

    def job_state(self, job: JobRecord) -> JobState:
        if job.end_ms is not None and job.end_ms <= self.at_ms:
            return "finished"
        if job.state == WAITING or (job.queued_ms is not None and self.at_ms < job.start_ms):
            return "waiting"
        return "running"

    def _in(self, state: str) -> list[JobRecord]:
        return [job for job in self.jobs.values() if self.job_state(job) == state]


def gpu_infos(found: BatchResult, name: str) -> dict[Place, GpuInfo]:
    """Return the GPUs that a question about them tells of."""
    return {card.place: card for card in (GpuInfo(*key) for key in found.numbers(name))}


def bindings_from_samples(found: BatchResult, name: str, at_ms: int) -> list[StoredBinding]:
    """Return who holds what as samples tell it, which do not know since when."""
    rows = (row.labels for row in found.rows.get(name, ()))
    return [
        StoredBinding(0, node, Binding(resource, kind, holder, at_ms, None, user))
        for node, _, resource, kind, holder, user in rows
    ]


def parse_place(text: str) -> Place:
    """Return the place that is written as node:gpu."""
    node, _, gpu = text.rpartition(":")
    return node, gpu


def _order(card: GpuInfo) -> tuple[str, int, str]:
    return card.node, int(card.gpu) if card.gpu.isdecimal() else 1 << 30, card.gpu
