"""Takes a trace of many ranks: one start for all, progress, collection, and what it says."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from vigie.server.tracing.analyzer import AnalysisError, TraceAnalyzer
from vigie.server.tracing.collector import CollectionError, TraceCollector
from vigie.server.tracing.library import TraceLibrary
from vigie.server.tracing.preflight import (
    SECONDS_AHEAD,
    Candidate,
    TraceRefusedError,
    check_disk,
    list_remarks,
    select_trainers,
)
from vigie.server.tracing.verification import describe_missing, verify_summary
from vigie.trace.analysis.ranks import compare_ranks
from vigie.wire import commands
from vigie.wire.api import trace_session as states
from vigie.wire.api.trace_session import RankTrace, TraceSelection, TraceSession, TraceSwitches
from vigie.wire.messages import CommandResult
from vigie.wire.tracing import TargetState, TargetStates, TraceOrder, TraceTarget, TrainerList

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
MAX_OPEN_SESSIONS = 4
MAX_DURATION_MS = 60_000
MAX_ITERATIONS = 1000
WRITE_SECONDS = 120.0  # that a trainer may take to write, after its window
ITERATION_SECONDS = 600.0  # within which the iterations must be done
UNREACHABLE = "its node is not connected"

_SETTLED = states.ENDED | {states.WRITTEN}  # the node has nothing more to tell
_decode_trainers = msgspec.json.Decoder(TrainerList).decode
_decode_states = msgspec.json.Decoder(TargetStates).decode


class NodeCommands(Protocol):
    """The links to all nodes."""

    def connected_nodes(self) -> list[str]: ...

    async def order(self, node: str, name: str, arguments: dict[str, Any]) -> CommandResult | None:
        """Return a node's result, or None if there is none."""


class TraceCaller(NamedTuple):
    """Who asks; with no admin's role, only for their own processes."""

    name: str
    is_admin: bool


class ClusterFacts(NamedTuple):
    """What the server knows that a trace needs."""

    nodes_of_job: Callable[[str], set[str]]
    clock_offset_ms: Callable[[str], float]
    record_event: Callable[[TraceSession], None]


class TraceCoordinator:
    """Runs sessions until each rank's file is here or the reason why not."""

    def __init__(
        self,
        links: NodeCommands,
        library: TraceLibrary,
        facts: ClusterFacts,
        *,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._links, self.library, self._facts = links, library, facts
        self._poll_seconds = poll_seconds
        self._collector = TraceCollector(links, library)
        self._analyzer = TraceAnalyzer()
        self._running: dict[str, asyncio.Future[None]] = {}

    def resume(self) -> None:
        """Go on with sessions that a restart of the server interrupted."""
        for session in self.library.sessions():
            if session.state == states.OPEN:
                self._follow(session)

    def stop(self) -> None:
        """Leave sessions as they are: they go on after the next start."""
        for task in self._running.values():
            task.cancel()

    async def close(self) -> None:
        """Stop, and wait until all have."""
        running = list(self._running.values())
        self.stop()
        await asyncio.gather(*running, return_exceptions=True)

    async def list_trainers(self, selection: TraceSelection) -> dict[str, TrainerList]:
        """Return the trainers of every node that the selection may concern."""
        nodes = self._find_nodes(selection)
        lists = await asyncio.gather(
            *(self._links.order(node, commands.TRACE_TRAINERS, {}) for node in nodes)
        )
        return {
            node: _decode_trainers(result.data) if result.data else TrainerList(problem=result.refused)
            for node, result in zip(nodes, lists, strict=True)
            if result is not None
        }

    async def start(
        self,
        selection: TraceSelection,
        caller: TraceCaller,
        *,
        switches: TraceSwitches | None = None,
        duration_ms: int = 500,
        iterations: int = 0,
        iteration_roundup: int = 1,
    ) -> TraceSession:
        """Ask the trainers, or raise TraceRefusedError before any is asked."""
        self._check_limits(duration_ms, iterations)
        nodes = await self.list_trainers(selection)
        candidates = select_trainers(nodes, selection, None if caller.is_admin else caller.name)
        check_disk(candidates, nodes, duration_ms)
        session = self._build_session(selection, caller, candidates)
        session.switches = switches or TraceSwitches()
        session.duration_ms, session.iterations = duration_ms, iterations
        session.iteration_roundup = iteration_roundup
        session.remarks = list_remarks(candidates, counts_iterations=iterations > 0)
        await asyncio.to_thread(self.library.save, session)
        await self._assign(session)
        await asyncio.to_thread(self.library.save, session)
        self._facts.record_event(session)
        self._follow(session)
        return session

    async def cancel(self, session: TraceSession) -> None:
        """Take back what was not fetched; what is being recorded is dropped."""
        for rank in session.ranks:
            if rank.state not in states.ENDED:
                rank.state = states.CANCELLED
        session.state = states.CANCELLED
        await self._command_all(session, commands.TRACE_CANCEL)
        await asyncio.to_thread(self.library.save, session)

    async def wait(self, session_id: str, seconds: float) -> None:
        """Wait until a session is over, or so long."""
        task = self._running.get(session_id)
        if task is not None:
            await asyncio.wait([task], timeout=seconds)

    def _check_limits(self, duration_ms: int, iterations: int) -> None:
        if not 1 <= duration_ms <= MAX_DURATION_MS:
            raise TraceRefusedError(f"Invalid duration: use 1 ms to {MAX_DURATION_MS // 1000} s.")
        if not 0 <= iterations <= MAX_ITERATIONS:
            raise TraceRefusedError(f"Invalid number of iterations: use at most {MAX_ITERATIONS}.")
        if len(self._running) >= MAX_OPEN_SESSIONS:
            raise TraceRefusedError(
                f"{MAX_OPEN_SESSIONS} traces are under way. Wait for one to end: vigie trace list"
            )

    def _find_nodes(self, selection: TraceSelection) -> list[str]:
        connected = self._links.connected_nodes()
        if selection.nodes:
            return [node for node in connected if node in selection.nodes]
        of_job = self._facts.nodes_of_job(selection.job) if selection.job else set()
        # A job that no source reports may still have trainers that carry its id.
        return [node for node in connected if not of_job or node in of_job]

    def _build_session(
        self, selection: TraceSelection, caller: TraceCaller, candidates: Iterable[Candidate]
    ) -> TraceSession:
        session_id = secrets.token_hex(8)  # in file names in /tmp: not to be guessed
        ranks = [_build_rank(session_id, candidate) for candidate in candidates]
        return TraceSession(
            id=session_id,
            owner=caller.name,
            created_ms=time.time_ns() // 1_000_000,
            selection=selection,
            switches=TraceSwitches(),
            duration_ms=0,
            ranks=ranks,
        )

    async def _assign(self, session: TraceSession) -> None:
        """Give all nodes one start, each by its own clock."""
        session.start_ms = 0 if session.iterations else round(time.time() * 1000) + SECONDS_AHEAD * 1000
        results = await self._command_all(session, commands.TRACE_START)
        for node, result in results.items():
            if result is None or not result.data:
                reason = result.refused if result is not None else UNREACHABLE
                _set_state(_ranks_of(session, node), states.FAILED, reason)
            else:
                _apply(_ranks_of(session, node), _decode_states(result.data).states)

    async def _command_all(self, session: TraceSession, name: str) -> dict[str, CommandResult | None]:
        nodes = sorted({rank.node for rank in session.ranks})
        orders = [self._build_order(session, node) for node in nodes]
        results = await asyncio.gather(
            *(self._links.order(node, name, order) for node, order in zip(nodes, orders, strict=True))
        )
        return dict(zip(nodes, results, strict=True))

    def _build_order(self, session: TraceSession, node: str) -> dict[str, Any]:
        start = session.start_ms and round(session.start_ms + self._facts.clock_offset_ms(node))
        order = TraceOrder(
            session=session.id,
            targets=[build_target(rank) for rank in _ranks_of(session, node)],
            start_ms=start,
            duration_ms=session.duration_ms,
            iterations=session.iterations,
            iteration_roundup=session.iteration_roundup,
            **msgspec.structs.asdict(session.switches),
        )
        builtins: dict[str, Any] = msgspec.to_builtins(order)
        return builtins

    def _follow(self, session: TraceSession) -> None:
        task = asyncio.ensure_future(self._run(session))
        self._running[session.id] = task
        task.add_done_callback(lambda _: self._running.pop(session.id, None))

    async def _run(self, session: TraceSession) -> None:
        try:
            collecting: dict[int, asyncio.Future[None]] = {}
            while not session.is_over:
                await self._update(session)
                for number, rank in enumerate(session.ranks):
                    if rank.state == states.WRITTEN and number not in collecting:
                        collecting[number] = asyncio.ensure_future(self._collect(session, rank))
                self._give_up_late(session)
                await asyncio.sleep(self._poll_seconds)
            await asyncio.gather(*collecting.values())
            await self._finish(session)
        except Exception:  # a session must end, whatever it meets
            log.exception("trace %s", session.id)
            session.state = states.FAILED
            await asyncio.to_thread(self.library.save, session)

    async def _update(self, session: TraceSession) -> None:
        waiting = {r.node for r in session.ranks if r.state not in _SETTLED}
        await asyncio.gather(*(self._update_node(session, node) for node in sorted(waiting)))

    async def _update_node(self, session: TraceSession, node: str) -> None:
        result = await self._links.order(node, commands.TRACE_STATUS, self._build_order(session, node))
        if result is not None and result.data:
            waiting = [rank for rank in _ranks_of(session, node) if rank.state not in _SETTLED]
            _apply(waiting, _decode_states(result.data).states)

    def _give_up_late(self, session: TraceSession) -> None:
        limit = ITERATION_SECONDS if session.iterations else WRITE_SECONDS + session.duration_ms / 1000
        begin = max(session.start_ms, session.created_ms)
        if time.time() * 1000 < begin + limit * 1000:
            return
        for rank in session.ranks:
            if rank.state not in _SETTLED:
                rank.state, rank.reason = states.MISSING, describe_missing(rank.state)

    async def _collect(self, session: TraceSession, rank: RankTrace) -> None:
        try:
            path = await self._collector.collect(session, rank)
            summary = await self._analyzer.summarize(path)
        except CollectionError as error:
            rank.state, rank.reason = states.FAILED, str(error)
        except AnalysisError as error:
            rank.state, rank.note = states.COLLECTED, f"It could not be read: {error}."
        else:
            rank.note = verify_summary(summary, session)
            await asyncio.to_thread(self.library.save_summary, session.id, rank.label, summary)
            rank.state = states.COLLECTED
        await asyncio.to_thread(self.library.save, session)

    async def _finish(self, session: TraceSession) -> None:
        if session.state == states.OPEN:
            await self._compare(session)
            collected = any(rank.state == states.COLLECTED for rank in session.ranks)
            session.state = states.DONE if collected else states.FAILED
            await self._command_all(session, commands.TRACE_REMOVE)
        await asyncio.to_thread(self.library.save, session)
        await asyncio.to_thread(self.library.expire, time.time_ns() // 1_000_000)

    async def _compare(self, session: TraceSession) -> None:
        summaries = await asyncio.to_thread(self.library.read_summaries, session)
        ranks = {
            r.rank: summaries[r.label] for r in session.ranks if r.rank is not None and r.label in summaries
        }
        if ranks:
            comparison = compare_ranks(ranks)
            session.verdict = comparison.sentence
            await asyncio.to_thread(self.library.save_comparison, session.id, comparison)


def build_target(rank: RankTrace) -> TraceTarget:
    return TraceTarget(rank.pid, rank.inner_pid, rank.uid, rank.path)


def _build_rank(session_id: str, candidate: Candidate) -> RankTrace:
    trainer = candidate.trainer
    directory = trainer.trace_directory or "/tmp"  # noqa: S108 - libkineto writes nowhere else by default
    return RankTrace(
        node=candidate.node,
        pid=trainer.pid,
        inner_pid=trainer.inner_pid,
        uid=trainer.uid,
        user=trainer.user,
        rank=trainer.rank,
        path=f"{directory.rstrip('/')}/vigie_trace_{session_id}.json",
    )


def _ranks_of(session: TraceSession, node: str) -> list[RankTrace]:
    return [rank for rank in session.ranks if rank.node == node]


def _set_state(ranks: Iterable[RankTrace], state: str, reason: str) -> None:
    for rank in ranks:
        rank.state, rank.reason = state, reason


def _apply(ranks: Iterable[RankTrace], found: Iterable[TargetState]) -> None:
    by_pid: Mapping[int, TargetState] = {state.pid: state for state in found}
    for rank in ranks:
        state = by_pid.get(rank.pid)
        if state is not None:
            rank.state, rank.reason, rank.size_bytes = state.state, state.reason, state.size
