"""Profiling counters from DCGM, with deadlines, reconnecting and pausing."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from vigie.sources._dcgm import abi
from vigie.sources._dcgm.clients import ChildClient, DcgmClient, RunningEngine
from vigie.sources._dcgm.engine import ADDRESSES, Reading
from vigie.sources._dcgm.library import DcgmError
from vigie.sources._nvml.call import DriverCall
from vigie.sources.core.lane import Lane, run_all
from vigie.sources.core.source import Unavailable

DEADLINE = 3.0
RETRY = 30.0
AUTO, EMBEDDED = "auto", "embedded"


class ProfilerSettings(NamedTuple):
    """Which engine to use, and what to watch."""

    engine: str  # auto, off, embedded, or an address
    library: str
    interval: float
    fields: tuple[int, ...]


class Profiler:
    """Queries an engine on its own thread. If it hangs, only these counters are affected."""

    def __init__(self, settings: ProfilerSettings, deadline: float = DEADLINE, retry: float = RETRY) -> None:
        self.settings = settings
        self._retry = retry
        self._lane = Lane("dcgm", deadline)
        self._lock = threading.RLock()  # pause() is called from another thread
        self._client: DcgmClient | None = None
        self._last = DriverCall(lambda: None)
        self._last()
        self._opening: DriverCall | None = None
        self._tried_at = float("-inf")
        self._reason = ""
        self._paused: tuple[float, str] | None = None

    def latest(self, uuids: Sequence[str]) -> dict[str, dict[int, Reading]]:
        """Return the latest values of these GPUs, or raise Unavailable."""
        with self._lock:
            if self._paused:
                until, why = self._paused
                if time.monotonic() < until:
                    raise Unavailable(why)
                self.resume()
            client = self._connect()
            found: dict[str, dict[int, Reading]] = self._run(lambda: client.latest(uuids))
            return found

    def pause(self, seconds: float, by: str) -> str:
        """Stop the counters for every client of the engine; return a message, or raise Unavailable."""
        with self._lock:
            client = self._connect()
            self._run(client.pause)
            until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() + seconds))
            said = f"profiling paused by {by} until {until}, for every client of the engine"
            self._paused = time.monotonic() + seconds, said
            return said

    def resume(self) -> None:
        """Resume the counters, if we stopped them."""
        with self._lock:
            paused, self._paused = self._paused, None
            if paused and self._client:
                self._run(self._client.resume)

    def close(self) -> None:
        """End our pause, and remove our watches from the engine."""
        with self._lock:
            try:
                self.resume()
            except Unavailable:
                pass  # the engine is gone, and the pause with it
            self._drop("closed")
            self._tried_at = float("-inf")

    def _connect(self) -> DcgmClient:
        if not self._last.done:
            raise Unavailable("DCGM engine hangs; retried when it returns")
        if self._client is None and self._opening:  # it took longer than the deadline
            self._client, self._opening = self._opening.result, None
        if self._client is None:
            if time.monotonic() - self._tried_at < self._retry:
                raise Unavailable(self._reason)
            self._tried_at = time.monotonic()
            self._client = self._run(self._open)
        return self._client

    def _open(self) -> DcgmClient:
        engine, library, interval, fields = self.settings
        if engine == EMBEDDED:
            return ChildClient(library, interval, fields)
        return RunningEngine(library, ADDRESSES if engine == AUTO else (engine,), interval, fields)

    def _run(self, ask: Callable[[], Any]) -> Any:
        self._last = question = DriverCall(ask)
        run_all(self._lane, [question])
        if not question.done:
            self._opening = None if self._client else question
            raise Unavailable("DCGM engine does not respond")
        error = question.error
        if error is None:
            return question.result
        if isinstance(error, DcgmError) and error.code in abi.OVER:
            self._drop(f"no DCGM: {error}")
            raise Unavailable(self._reason)
        if isinstance(error, (DcgmError, OSError)):
            self._reason = f"no DCGM: {error}"
            raise Unavailable(self._reason)
        raise error

    def _drop(self, why: str) -> None:
        opened = self._opening.result if self._opening else None
        client = self._client or opened
        self._reason, self._client, self._opening = why, None, None
        if client is not None and self._last.done:
            run_all(self._lane, [DriverCall(client.close)])
