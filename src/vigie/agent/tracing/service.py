"""Serves the trainers of this node, and hands what they record to the server piece by piece."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import shutil
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from vigie.agent.tracing.dyno_rpc import DynoRpc
from vigie.agent.tracing.rank_environment import find_job, name_user, read_rank_environment
from vigie.agent.tracing.stack_collector import StackCollector
from vigie.common.change_logger import ChangeLogger
from vigie.trace.collection.trace_file import TraceFileError, TraceFileMissingError, TrainerRoot
from vigie.trace.dyno.functions import ProfilingPause
from vigie.trace.kineto.config_text import InvalidRequestError, TraceRequest, build_config, expected_path
from vigie.trace.kineto.ipc import KinetoIpc, KinetoIpcError
from vigie.trace.kineto.trainers import Assignment, Trainer, TrainerRegistry
from vigie.wire import commands
from vigie.wire.commands import CommandHandler, CommandOutcome
from vigie.wire.tracing import (
    PieceHeader,
    PieceOrder,
    StackOrder,
    TargetState,
    TargetStates,
    TraceOrder,
    TraceTarget,
    TrainerInfo,
    TrainerList,
)

log = logging.getLogger(__name__)

Order = TypeVar("Order")

PIECE_BYTES = 4 * 1024 * 1024  # before compression
MAX_FILE_BYTES = 4 * 1024**3
MAX_ROOTS = 256
START_SECONDS, FINISH_SECONDS = 7.0, 10.0
CLEANUP_SECONDS = 60.0
TRAINERS_WRITE_TO = "/tmp"  # noqa: S108 - libkineto takes no other place without a setting of the trainer


class NodeTracing:
    """What a server may ask of this node's trainers."""

    def __init__(
        self,
        directories: Sequence[str] = (),
        *,
        socket_name: str | None = "dynolog",
        piece_bytes: int = PIECE_BYTES,
        profiling: ProfilingPause | None = None,
        dyno_address: str = "",
    ) -> None:
        self.registry = TrainerRegistry(time.monotonic)
        self._piece_bytes = piece_bytes
        self._sockets = [KinetoIpc(self.registry, directory) for directory in directories]
        if socket_name is not None:
            self._sockets.insert(0, KinetoIpc(self.registry, name=socket_name))
        self._roots: OrderedDict[tuple[str, int], TrainerRoot] = OrderedDict()
        self._problems: list[str] = []
        self._stacks = StackCollector()
        self._profiling = profiling
        self._dyno = DynoRpc(self.registry, profiling, dyno_address) if profiling and dyno_address else None
        self._cleaning: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Serve trainers on every socket that can be had; the others are said."""
        loop = asyncio.get_running_loop()
        opened = []
        for socket in self._sockets:
            try:
                socket.open()
            except KinetoIpcError as error:
                self._problems.append(str(error))
                log.info("trainers are not served: %s", error)
                continue
            socket.serve(loop)
            opened.append(socket)
        self._sockets = opened
        self._cleaning = asyncio.ensure_future(self._clean())
        if self._dyno is not None:
            self._dyno.start()

    def close(self) -> None:
        if self._dyno is not None:
            self._dyno.close()
        if self._cleaning is not None:
            self._cleaning.cancel()
        for socket in self._sockets:
            socket.close(asyncio.get_running_loop())
        for root in self._roots.values():
            root.close()
        self._roots.clear()

    def handlers(self) -> dict[str, CommandHandler]:
        """Return the commands that a server may send."""
        return {
            commands.TRACE_TRAINERS: self._list_trainers,
            commands.TRACE_START: _typed(TraceOrder, self._start),
            commands.TRACE_STATUS: _typed(TraceOrder, self._report),
            commands.TRACE_READ: _typed(PieceOrder, self._read),
            commands.TRACE_CANCEL: _typed(TraceOrder, self._cancel),
            commands.TRACE_REMOVE: _typed(TraceOrder, self._remove),
            commands.STACKS: _typed(StackOrder, self._take_stacks),
        }

    async def _clean(self) -> None:
        complain = ChangeLogger("sockets of trainers")
        while True:
            await asyncio.sleep(CLEANUP_SECONDS)
            try:
                for socket in self._sockets:
                    await asyncio.to_thread(socket.remove_stale_clients)
            except OSError as error:
                complain(f"cannot be cleaned up: {error}")
            else:
                complain("")

    async def _list_trainers(self, _: Mapping[str, Any]) -> CommandOutcome:
        now = time.monotonic()
        trainers = await asyncio.to_thread(lambda: [_describe(t, now) for t in self.registry])
        misplaced = [s.misplaced for s in self._sockets if s.misplaced]
        problems = [
            *self._problems,
            *(
                f"a trainer sees the socket's directory as {place}: mount it at the same path"
                for place in misplaced
            ),
        ]
        free = await asyncio.to_thread(_free_bytes)
        return _data(TrainerList(trainers, "; ".join(problems), free))

    async def _start(self, order: TraceOrder) -> CommandOutcome:
        try:
            states = [self._assign(order, target) for target in order.targets]
        except InvalidRequestError as error:
            return CommandOutcome(False, str(error))
        if self._profiling is not None:  # before Hopper the profiler and DCGM cannot both count
            await self._profiling.pause_profiling(_measure_hold(order), f"trace {order.session}")
        return _data(TargetStates(states))

    def _assign(self, order: TraceOrder, target: TraceTarget) -> TargetState:
        trainer = self.registry.get(target.pid)
        if trainer is None or trainer.uid != target.uid:
            return TargetState(target.pid, "gone", "it no longer polls")
        request = TraceRequest(
            trace_id=f"{order.session}-{target.pid}",
            path=target.path,
            start_ms=order.start_ms,
            duration_ms=order.duration_ms,
            iterations=order.iterations,
            iteration_roundup=order.iteration_roundup,
            record_shapes=order.record_shapes,
            profile_memory=order.profile_memory,
            with_stacks=order.with_stacks,
            with_flops=order.with_flops,
            with_modules=order.with_modules,
            memory_snapshot=order.memory_snapshot,
        )
        hold = _measure_hold(order)
        assignment = Assignment(order.session, build_config(request), hold, order.iterations > 0)
        if not self.registry.assign(trainer, assignment):
            return TargetState(target.pid, "busy", "it is tracing, or has another request to fetch")
        self._keep_root(order.session, target.pid)
        return TargetState(target.pid, "assigned")

    def _keep_root(self, session: str, pid: int) -> TrainerRoot | None:
        """Hold on to the trainer's file system, so that its file can be had when it has ended."""
        key = (session, pid)
        if key in self._roots:
            return self._roots[key]
        try:
            root = self._roots[key] = TrainerRoot(pid)
        except TraceFileError:
            return None
        while len(self._roots) > MAX_ROOTS:
            self._roots.popitem(last=False)[1].close()
        return root

    async def _report(self, order: TraceOrder) -> CommandOutcome:
        states = await asyncio.to_thread(
            lambda: [self._find_state(order.session, target) for target in order.targets]
        )
        return _data(TargetStates(states))

    def _find_state(self, session: str, target: TraceTarget) -> TargetState:
        path = expected_path(target.path, target.inner_pid)
        root = self._keep_root(session, target.pid)
        if root is None:
            return TargetState(target.pid, "gone", "the process has ended")
        try:
            with root.open_file(path, target.uid, MAX_FILE_BYTES) as file:
                return TargetState(target.pid, "written", size=os.fstat(file.fileno()).st_size)
        except TraceFileMissingError:
            return self._find_progress(session, target, root, path)
        except TraceFileError as error:
            return TargetState(target.pid, "failed", str(error))

    def _find_progress(self, session: str, target: TraceTarget, root: TrainerRoot, path: str) -> TargetState:
        try:
            root.open_file(f"{path}.tmp", target.uid, MAX_FILE_BYTES).close()
        except TraceFileError:
            pass
        else:
            return TargetState(target.pid, "writing")
        trainer = self.registry.get(target.pid)
        if trainer is None:
            return TargetState(target.pid, "gone", "it no longer polls, and wrote no file")
        if trainer.pending is not None and trainer.pending.key == session:
            return TargetState(target.pid, "assigned")
        return TargetState(target.pid, "tracing" if trainer.is_tracing else "fetched")

    async def _read(self, order: PieceOrder) -> CommandOutcome:
        """Send a piece of a file as one gzip member: joined, the pieces are the compressed file."""
        try:
            header, piece = await asyncio.to_thread(
                self._read_piece, order.session, order.target, order.offset
            )
        except (TraceFileError, OSError) as error:
            return CommandOutcome(False, str(error))
        return CommandOutcome(True, msgspec.json.encode(header).decode(), piece)

    def _read_piece(self, session: str, target: TraceTarget, offset: int) -> tuple[PieceHeader, bytes]:
        root = self._keep_root(session, target.pid)
        if root is None:
            raise TraceFileMissingError("the process has ended")
        path = expected_path(target.path, target.inner_pid)
        with root.open_file(path, target.uid, MAX_FILE_BYTES) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            data = file.read(self._piece_bytes)
        return PieceHeader(offset, offset + len(data), size), gzip.compress(data, compresslevel=1)

    async def _cancel(self, order: TraceOrder) -> CommandOutcome:
        count = self.registry.cancel(order.session)
        return CommandOutcome(True, f"{count} requests taken back")

    async def _remove(self, order: TraceOrder) -> CommandOutcome:
        """Remove the files of a session, which the server has now."""
        return CommandOutcome(True, await asyncio.to_thread(self._remove_files, order))

    def _remove_files(self, order: TraceOrder) -> str:
        problems = []
        for target in order.targets:
            root = self._keep_root(order.session, target.pid)
            try:
                if root is not None:
                    root.remove_file(expected_path(target.path, target.inner_pid), target.uid)
            except TraceFileMissingError:
                pass
            except TraceFileError as error:
                problems.append(str(error))
            kept = self._roots.pop((order.session, target.pid), None)
            if kept is not None:
                kept.close()
        return "; ".join(problems)

    async def _take_stacks(self, order: StackOrder) -> CommandOutcome:
        return _data(await self._stacks.collect(order))


def _describe(trainer: Trainer, now: float) -> TrainerInfo:
    environment = read_rank_environment(trainer.pid)
    return TrainerInfo(
        pid=trainer.pid,
        inner_pid=trainer.pids[0],
        uid=trainer.uid,
        user=name_user(trainer.uid),
        job_id=trainer.job_id,
        job=find_job(trainer.pid),
        ancestors=list(trainer.pids[1:]),
        rank=environment.rank,
        world_size=environment.world_size,
        trace_directory=environment.trace_directory,
        is_busy=trainer.is_busy(now),
        is_young=trainer.is_young(now),
    )


def _measure_hold(order: TraceOrder) -> float:
    """Return for how many seconds a trainer is busy with an order."""
    ahead = order.start_ms / 1000 - time.time() if order.start_ms else 0.0
    return max(ahead, START_SECONDS) + order.duration_ms / 1000 + FINISH_SECONDS


def _free_bytes() -> int | None:
    try:
        return shutil.disk_usage(TRAINERS_WRITE_TO).free
    except OSError:
        return None


def _data(value: object) -> CommandOutcome:
    return CommandOutcome(True, "", msgspec.json.encode(value))


def _typed(kind: type[Order], handle: Callable[[Order], Awaitable[CommandOutcome]]) -> CommandHandler:
    """Return a handler that refuses what is no such order."""

    async def handle_arguments(arguments: Mapping[str, Any]) -> CommandOutcome:
        try:
            order = msgspec.convert(dict(arguments), kind)
        except msgspec.ValidationError as error:
            return CommandOutcome(False, f"invalid request: {error}")
        return await handle(order)

    return handle_arguments
