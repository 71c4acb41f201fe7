"""What dynolog's calls do here, with the same answers."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NamedTuple, Protocol

from vigie.trace.kineto.trainers import Assignment, Trainer, TrainerRegistry

DEFAULT_LIMIT = 1000
START_SECONDS = 7.0  # warm-up and the profiler's own tick, where no start is given
FINISH_SECONDS = 5.0  # for writing the file
MAX_CONFIG_LENGTH = 65536

Answer = dict[str, Any]


class ProfilingPause(Protocol):
    """Gives DCGM's counters to another profiler for a while."""

    async def pause_profiling(self, seconds: float, by: str) -> bool: ...

    async def resume_profiling(self) -> bool: ...


class TraceOutcome(NamedTuple):
    """The trainers that matched a request, those that will trace, and how many were busy."""

    matched: list[Trainer]
    triggered: list[Trainer]
    busy: int

    def to_answer(self) -> Answer:
        return {
            "activityProfilersBusy": self.busy,
            "activityProfilersTriggered": [_leaf_pid(trainer) for trainer in self.triggered],
            "eventProfilersBusy": 0,
            "eventProfilersTriggered": [],
            "processesMatched": [_leaf_pid(trainer) for trainer in self.matched],
        }


class _Call(NamedTuple):
    """A call and its caller's uid, None from a machine that was let in explicitly."""

    request: Answer
    uid: int | None

    @property
    def is_privileged(self) -> bool:
        return self.uid in (None, 0)

    def may_trace(self, trainer: Trainer) -> bool:
        return self.is_privileged or self.uid == trainer.uid


class DynoFunctions:
    """Answers calls by name; a caller of another user than root sees its own trainers only."""

    def __init__(
        self,
        registry: TrainerRegistry,
        *,
        version: str,
        profiling: ProfilingPause,
        is_gpu_healthy: Callable[[], bool] = lambda: True,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._registry, self._version, self._profiling = registry, version, profiling
        self._is_gpu_healthy, self._wall_clock = is_gpu_healthy, wall_clock
        self._requests = 0
        self._functions: dict[str, Callable[[_Call], Awaitable[Answer]]] = {
            "getStatus": self._get_status,
            "getVersion": self._get_version,
            "setKinetOnDemandRequest": self._request_trace,
            "dcgmProfPause": self._pause_profiling,
            "dcgmProfResume": self._resume_profiling,
            "getTrainers": self._list_trainers,
        }

    async def call(self, request: object, uid: int | None) -> Answer | None:
        """Return the answer, or None where dynolog would close the connection without one.

        `uid` is the caller's on this machine, and None from another one, which was let in explicitly.
        """
        if not isinstance(request, dict) or not isinstance(name := request.get("fn"), str):
            return None
        function = self._functions.get(name)
        return None if function is None else await function(_Call(request, uid))

    async def _get_status(self, _: _Call) -> Answer:
        return {"status": int(self._is_gpu_healthy())}

    async def _get_version(self, _: _Call) -> Answer:
        return {"version": self._version}

    async def _list_trainers(self, call: _Call) -> Answer:
        """List who polls; dynolog has no such call."""
        return {
            "trainers": [
                {"pid": t.pid, "uid": t.uid, "job_id": t.job_id, "ancestors": list(t.pids[1:])}
                for t in self._registry
                if call.may_trace(t)
            ]
        }

    async def _pause_profiling(self, call: _Call) -> Answer:
        seconds = call.request.get("duration_s")
        if not isinstance(seconds, int) or isinstance(seconds, bool) or not call.is_privileged:
            return {"status": "failed"}
        return {"status": await self._profiling.pause_profiling(seconds, "dyno")}

    async def _resume_profiling(self, call: _Call) -> Answer:
        return {"status": call.is_privileged and await self._profiling.resume_profiling()}

    async def _request_trace(self, call: _Call) -> Answer:
        request = call.request
        if "config" not in request or "pids" not in request:
            return {"status": "failed"}
        config, pids = request["config"], request["pids"]
        job_id, limit = request.get("job_id", 0), request.get("process_limit", DEFAULT_LIMIT)
        if wrong := _find_wrong_type(config, pids, job_id, limit):
            return {"status": f"failed with exception = [json.exception.type_error.302] {wrong}"}
        if len(config) > MAX_CONFIG_LENGTH:
            return {"status": "failed"}
        return self._trigger(call, config, frozenset(pids), job_id, limit).to_answer()

    def _trigger(
        self, call: _Call, config: str, pids: Collection[int], job_id: int, limit: int
    ) -> TraceOutcome:
        self._requests += 1
        matched = sorted(
            (t for t in self._registry if call.may_trace(t) and _matches(t, pids, job_id)),
            key=lambda trainer: sorted(trainer.pids),
        )
        triggered: list[Trainer] = []
        busy = 0
        for trainer in matched:
            if limit >= 0 and len(triggered) >= limit:
                break
            if self._registry.assign(trainer, self._build_assignment(config, trainer)):
                triggered.append(trainer)
            else:
                busy += 1
        return TraceOutcome(matched, triggered, busy)

    def _build_assignment(self, config: str, trainer: Trainer) -> Assignment:
        values = parse_config(config)
        trace_id = f"dyno-{self._requests}-{trainer.pid}"
        text = f"{config.rstrip()}\nREQUEST_TRACE_ID={trace_id}\n"
        ahead = _read_int(values, "PROFILE_START_TIME", 0) / 1000 - self._wall_clock()
        duration = _read_int(values, "ACTIVITIES_DURATION_MSECS", 500) / 1000
        return Assignment(
            trace_id,
            text,
            max(ahead, START_SECONDS) + duration + FINISH_SECONDS,
            counts_iterations=_read_int(values, "ACTIVITIES_ITERATIONS", 0) > 0,
        )


def parse_config(text: str) -> dict[str, str]:
    """Return keys and values as libkineto reads them; lines that it would stumble over are left out."""
    values = {}
    for line in text.splitlines():
        parts = line.split("#")[0].split("=")
        if len(parts) == 2:
            values[parts[0].strip()] = parts[1].strip()
    return values


def _read_int(values: dict[str, str], key: str, default: int) -> int:
    value = values.get(key, "")
    return int(value) if value.isdecimal() and len(value) < 19 else default


def _matches(trainer: Trainer, pids: Collection[int], job_id: int) -> bool:
    """Tell by the job, and by any of the trainer's own pid and ancestors, inside its namespace or outside."""
    if trainer.job_id != job_id:
        return False
    return not pids or set(pids) == {0} or not {trainer.pid, *trainer.pids}.isdisjoint(pids)


def _leaf_pid(trainer: Trainer) -> int:
    return trainer.pids[0]  # as the trainer sees it: its file is named so


def _find_wrong_type(config: object, pids: object, job_id: object, limit: object) -> str:
    if not isinstance(config, str):
        return "type must be string"
    if not isinstance(pids, list) or not all(_is_int(pid) for pid in pids):
        return "type must be array of numbers"
    return "" if _is_int(job_id) and _is_int(limit) else "type must be number"


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
