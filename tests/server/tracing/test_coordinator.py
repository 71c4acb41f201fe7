"""A trace of several ranks on several nodes, over the agents' own code."""

import asyncio
import json
import socket
import struct
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from vigie.agent.tracing.service import NodeTracing
from vigie.server.tracing.coordinator import ClusterFacts, TraceCaller, TraceCoordinator
from vigie.server.tracing.library import TraceLibrary
from vigie.server.tracing.preflight import TraceRefusedError
from vigie.wire.api.trace_session import TraceSelection, TraceSession
from vigie.wire.messages import CommandResult

ADMIN = TraceCaller("root", True)
EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 499_000.0}
TRACE = json.dumps({"baseTimeNanoseconds": 0, "traceEvents": [EVENT], "traceName": "x"}).encode()


class SimulatedTrainer:
    """Polls as libkineto does and writes what it is told to; its directory stands for its own /tmp."""

    def __init__(self, server: str, inner_pid: int, job_id: int) -> None:
        self._poll = struct.pack("<Q32siiqi", 20, b"req", 2, 1, job_id, inner_pid)
        self._inner_pid, self._server = inner_pid, f"\0{server}\0"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0dynoconfigclient{uuid.uuid4()}\0")
        self._socket.settimeout(30)
        self.path: Path | None = None

    def __del__(self) -> None:
        self._socket.close()

    def poll(self, *, writes: bool = True) -> bool:
        """Return whether there was something to record."""
        self._socket.sendto(self._poll, self._server)
        text = self._socket.recv(65536)[40:].decode()
        values = dict(line.split("=") for line in text.splitlines())
        if not values:
            return False
        self.path = Path(values["ACTIVITIES_LOG_FILE"].replace(".json", f"_{self._inner_pid}.json"))
        if writes:
            self.path.write_bytes(TRACE)
        return True


class Cluster:
    """Agents without a network: orders go straight to their handlers."""

    def __init__(self, directory: Path, nodes: int = 2) -> None:
        self.names = [f"n{i + 1}" for i in range(nodes)]
        self.sockets = {name: f"dynolog-{uuid.uuid4()}" for name in self.names}
        self.services: dict[str, NodeTracing] = {}
        self.away: set[str] = set()
        self.events: list[TraceSession] = []
        self.library = TraceLibrary(directory / "traces", max_bytes=1 << 30, max_age_ms=1 << 40)
        self.library.open()
        self.offsets: dict[str, float] = {}
        self.orders: list[tuple[str, str, dict[str, Any]]] = []

    def connected_nodes(self) -> list[str]:
        return [name for name in self.names if name not in self.away]

    async def order(self, node: str, name: str, arguments: dict[str, Any]) -> CommandResult | None:
        if node in self.away:
            return None
        self.orders.append((node, name, arguments))
        outcome = await self.services[node].handlers()[name](arguments)
        if not outcome.is_done:
            return CommandResult(1, refused=outcome.text)
        return CommandResult(1, text=outcome.text, data=outcome.data)

    def restart_agent(self, node: str) -> None:
        if node in self.services:
            self.services[node].close()
        self.services[node] = NodeTracing(socket_name=self.sockets[node])
        self.services[node].start()

    def run(self, act: Callable[[TraceCoordinator], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            for node in self.names:
                self.restart_agent(node)
            facts = ClusterFacts(
                lambda job: {"n1", "n2"} if job == "7" else set(),
                lambda node: self.offsets.get(node, 0.0),
                self.events.append,
            )
            coordinator = TraceCoordinator(self, self.library, facts, poll_seconds=0.02)
            try:
                return await act(coordinator)
            finally:
                await coordinator.close()
                for service in self.services.values():
                    service.close()

        return asyncio.run(run())

    def trainer(self, node: str, inner_pid: int, job_id: int = 7) -> SimulatedTrainer:
        return SimulatedTrainer(self.sockets[node], inner_pid, job_id)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


async def poll_all(*trainers: SimulatedTrainer, writes: bool = True) -> list[bool]:
    return [await asyncio.to_thread(trainer.poll, writes=writes) for trainer in trainers]


async def wait_until_over(coordinator: TraceCoordinator, session: TraceSession) -> None:
    async with asyncio.timeout(60):
        while session.state == "open":
            await coordinator.wait(session.id, 0.02)


@pytest.mark.process
def test_ranks_of_all_nodes_are_traced_collected_and_read(cluster: Cluster) -> None:
    async def act(coordinator: TraceCoordinator) -> TraceSession:
        trainers = [cluster.trainer("n1", 11), cluster.trainer("n2", 22)]
        await poll_all(*trainers)
        session = await coordinator.start(TraceSelection(job="7"), ADMIN)
        assert [(rank.node, rank.state) for rank in session.ranks] == [("n1", "assigned"), ("n2", "assigned")]
        assert await poll_all(*trainers) == [True, True]
        await wait_until_over(coordinator, session)
        for trainer in trainers:
            assert trainer.path is not None
            assert not trainer.path.exists()  # taken along
        return session

    session = cluster.run(act)
    assert (session.state, [rank.state for rank in session.ranks]) == ("done", ["collected", "collected"])
    summaries = cluster.library.read_summaries(session)
    assert [s.operators[0].name for s in summaries.values()] == ["aten::mm", "aten::mm"]
    assert cluster.events == [session]
    assert all(rank.collected_bytes == len(TRACE) for rank in session.ranks)


def test_every_node_starts_by_its_own_clock(cluster: Cluster) -> None:
    cluster.offsets = {"n1": 0.0, "n2": 5000.0}

    async def act(coordinator: TraceCoordinator) -> None:
        await poll_all(cluster.trainer("n1", 11), cluster.trainer("n2", 22))
        session = await coordinator.start(TraceSelection(), ADMIN)
        await coordinator.cancel(session)

    cluster.run(act)
    starts = {node: order["start_ms"] for node, name, order in cluster.orders if name == "trace_start"}
    assert starts["n2"] - starts["n1"] == 5000


@pytest.mark.process
def test_agent_that_is_started_again_in_mid_trace_costs_nothing(cluster: Cluster) -> None:
    async def act(coordinator: TraceCoordinator) -> TraceSession:
        trainer = cluster.trainer("n1", 11)
        await poll_all(trainer)
        session = await coordinator.start(TraceSelection(nodes=["n1"]), ADMIN)
        await poll_all(trainer, writes=False)
        cluster.restart_agent("n1")
        assert trainer.path is not None
        trainer.path.write_bytes(TRACE)
        await wait_until_over(coordinator, session)
        return session

    assert cluster.run(act).state == "done"


@pytest.mark.process
def test_session_goes_on_after_a_restart_of_the_server(cluster: Cluster) -> None:
    async def act(coordinator: TraceCoordinator) -> str:
        trainer = cluster.trainer("n1", 11)
        await poll_all(trainer)
        session = await coordinator.start(TraceSelection(nodes=["n1"]), ADMIN)
        await coordinator.close()
        await poll_all(trainer)
        cluster.library.open()
        coordinator.resume()
        again = cluster.library.find(session.id)
        assert again is not None
        await wait_until_over(coordinator, again)
        return again.state

    assert cluster.run(act) == "done"


def test_cancelled_session_takes_back_what_was_not_fetched(cluster: Cluster) -> None:
    async def act(coordinator: TraceCoordinator) -> tuple[TraceSession, list[bool]]:
        trainer = cluster.trainer("n1", 11)
        await poll_all(trainer)
        session = await coordinator.start(TraceSelection(nodes=["n1"]), ADMIN)
        await coordinator.cancel(session)
        return session, await poll_all(trainer)

    session, polled = cluster.run(act)
    assert polled == [False]
    assert (session.state, session.ranks[0].state) == ("cancelled", "cancelled")


def refuse(cluster: Cluster, selection: TraceSelection, caller: TraceCaller = ADMIN, **options: Any) -> str:
    async def act(coordinator: TraceCoordinator) -> str:
        await poll_all(cluster.trainer("n1", 11))
        with pytest.raises(TraceRefusedError) as refused:
            await coordinator.start(selection, caller, **options)
        return str(refused.value)

    return str(cluster.run(act))


def test_user_may_trace_only_own_processes(cluster: Cluster) -> None:
    reason = refuse(cluster, TraceSelection(job="7"), TraceCaller("mallory", False))
    assert "only their user or an admin" in reason


def test_reason_names_what_is_registered_when_nothing_matches(cluster: Cluster) -> None:
    assert refuse(cluster, TraceSelection(pids=[1])) == (
        "No registered trainer matches. 1 are registered, of jobs 7."
    )


def test_reason_gives_the_line_to_add_when_nobody_polls(cluster: Cluster) -> None:
    reason = refuse(cluster, TraceSelection(nodes=["n2"]))
    assert "KINETO_USE_DAEMON=1" in reason
    assert "vigie trace stacks" in reason


def test_node_that_is_away_is_said(cluster: Cluster) -> None:
    cluster.away = {"n2"}
    assert "No node of it is connected" in refuse(cluster, TraceSelection(nodes=["n2"]))


@pytest.mark.parametrize("options", [{"duration_ms": 0}, {"duration_ms": 10**7}, {"iterations": 10**6}])
def test_request_beyond_the_limits_is_refused_before_anybody_is_asked(
    cluster: Cluster, options: dict[str, Any]
) -> None:
    assert "Invalid" in refuse(cluster, TraceSelection(), **options)
    assert cluster.orders == []


def test_second_trace_of_the_same_processes_waits_for_the_first(cluster: Cluster) -> None:
    async def act(coordinator: TraceCoordinator) -> str:
        trainer = cluster.trainer("n1", 11)
        await poll_all(trainer)
        session = await coordinator.start(TraceSelection(nodes=["n1"]), ADMIN)
        with pytest.raises(TraceRefusedError, match="traced already"):
            await coordinator.start(TraceSelection(nodes=["n1"]), ADMIN)
        await coordinator.cancel(session)
        return session.state

    assert cluster.run(act) == "cancelled"
