"""NVIDIA's driver, shared by all sources of a process: opened, released and reopened."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, TypeVar

from vigie.sources._number_lists import format_number_list
from vigie.sources._nvml import abi
from vigie.sources._nvml.call import DriverCall
from vigie.sources._nvml.gpu import HOST_LABEL, LOST, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.session import DriverTooOldError, NvmlSession
from vigie.sources._nvml.state import read_state
from vigie.sources._nvml.users import read_users
from vigie.sources.core.driver import GpuState, GpuUsers, Note
from vigie.sources.core.lane import Lane, run_all
from vigie.sources.core.source import Unavailable

T = TypeVar("T")
LIBRARY = "libnvidia-ml.so.1"
DEADLINE = 0.5  # seconds per GPU; while one hangs, the others get a tenth
RETRY = 5.0  # seconds between attempts to open a driver that fails
REOPEN = 60.0  # seconds until a driver with a lost GPU is reopened to find it again
MAX_BACKOFF = 4  # maximum factor: the wait doubles each time, as reopening costs the other GPUs their rates
OVER = (abi.UNINITIALIZED, abi.DRIVER_NOT_LOADED, abi.VERSIONS_DIFFER)
PERMISSION_HINT = "add the agent's user to the group of /dev/nvidia*, or run the agent as root"


NOT_YET = DriverCall(list)


class NvmlDriver:
    """Calls each GPU in turn on a separate thread. One that hangs or is lost affects only itself."""

    def __init__(
        self,
        library: str = LIBRARY,
        *,
        node: str = "",
        host_label: str = HOST_LABEL,
        deadline: float = DEADLINE,
        retry: float = RETRY,
        reopen: float = REOPEN,
    ) -> None:
        self.library, self.node, self.host_label = library, node, host_label
        self._deadline, self._retry, self._reopen = deadline, retry, reopen
        self._lane = Lane("nvidia driver", deadline)
        self._lock = threading.RLock()
        self._session: NvmlSession | None = None
        self._opening: DriverCall | None = None
        self._tried_at = float("-inf")
        self._opened_at = 0.0
        self._backoff = reopen  # until it is reopened
        self._lost_gpus: set[str] = set()  # lost GPUs: the driver may have been reopened without them
        self._failure = ""
        self._stuck: dict[int, DriverCall] = {}
        self._listening = DriverCall(list)
        self._listening()
        self._released: tuple[float, str] | None = None
        self.closed_with: list[Callable[[], object]] = []  # other users of the GPUs

    def call_each(
        self, ask: Callable[[NvmlGpu], Any], *, listen: bool = False
    ) -> list[tuple[NvmlGpu, DriverCall]]:
        """Call the function for each GPU, or raise Unavailable. A GPU without a result hangs.

        With `listen`, XIDs are collected too, for `xids`.
        """
        with self._lock:
            session = self._ensure_open()
            self._drop_returned()
            asked = [
                (gpu, self._stuck.get(gpu.index) or DriverCall(_find_gpu(ask, gpu))) for gpu in session.gpus
            ]
            fresh = [question for gpu, question in asked if gpu.index not in self._stuck]
            self._run([*fresh, *self._listen(session, listen)])
            before, self._stuck = self._stuck, {g.index: q for g, q in asked if not q.done}
            for gpu, question in asked:
                self._update_lost(gpu, question, late=gpu.index in before)
            # A GPU that hung may by now have the result of another caller.
            return [(gpu, NOT_YET if gpu.index in before else question) for gpu, question in asked]

    def users(self, note: Note) -> list[GpuUsers]:
        """Return who is on every GPU that answers, note why others do not, or raise Unavailable."""
        return self._collect(read_users, note)

    def states(self, note: Note) -> list[GpuState]:
        """Return the state of every GPU that answers, note why others do not, or raise Unavailable."""
        return self._collect(read_state, note)

    def _collect(self, read: Callable[[NvmlGpu], T], note: Note) -> list[T]:
        found = []
        for gpu, call in self.call_each(read):
            if call.done and call.error is None and not gpu.lost:
                found.append(call.result)
            else:
                note(f"GPU {gpu.index}", gpu.lost or call.error or "no answer in time")
        return found

    def xids(self) -> list[tuple[NvmlGpu, int]]:
        """Return the XIDs since the last call."""
        with self._lock:
            heard = self._listening.result or []
            self._listening.result = None
            return heard

    def gpus(self) -> list[NvmlGpu]:
        """Return the GPUs found when the driver was opened."""
        return self._session.gpus if self._session else []

    def unidentified(self) -> dict[int, NvmlError]:
        """Return the GPUs that could not be identified, with reasons."""
        return self._session.unidentified if self._session else {}

    def release(self, seconds: float, by: str) -> str:
        """Close every handle for a time. Return the reason if that fails."""
        with self._lock:
            hanging = self._find_hanging()
            if hanging:
                return f"{hanging} hangs in the driver: handles cannot be closed yet"
            for close in self.closed_with:
                close()
            until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() + seconds))
            self._released = time.monotonic() + seconds, f"released by {by} until {until}"
            if not self._close(self._released[1]):
                return "the driver has not closed its handles yet"
            return ""

    @property
    def released(self) -> str:
        """Return by whom and until when the driver is released, or an empty string."""
        return self._released[1] if self._released else ""

    def resume(self) -> None:
        self._released = None
        self._tried_at = float("-inf")

    def close(self) -> None:
        """Release the driver for good."""
        with self._lock:
            if not self._find_hanging():
                self._close("closed")
            self._lane.close()

    def _ensure_open(self) -> NvmlSession:
        now = time.monotonic()
        if self._released:
            until, why = self._released
            if now < until:
                raise Unavailable(why)
            self.resume()
        if self._has_lost_gpu():
            if now - self._opened_at > self._backoff and not self._find_hanging():
                self._backoff = min(2 * self._backoff, MAX_BACKOFF * self._reopen)
                self._close("a GPU was lost: reopening the driver")
        elif self._session:
            self._backoff = self._reopen
        return self._session or self._open(now)

    def _has_lost_gpu(self) -> bool:
        """Return whether reopening the driver may bring a lost GPU back."""
        self._lost_gpus -= {gpu.uuid for gpu in self.gpus() if not gpu.lost}
        self._lost_gpus |= {gpu.uuid for gpu in self.gpus() if gpu.lost}
        refused = any(error.code != abi.NO_PERMISSION for error in self.unidentified().values())
        return refused or bool(self._session and self._lost_gpus)

    def _open(self, now: float) -> NvmlSession:
        if self._opening is None:
            if now - self._tried_at < self._retry:
                raise Unavailable(self._failure)
            self._tried_at = now
            self._opening = DriverCall(lambda: NvmlSession(self.library))
            self._run([self._opening])
        if not self._opening.done:
            raise Unavailable(f"{self.library} has been opening for {now - self._tried_at:.0f}s")
        opening, self._opening = self._opening, None
        if opening.error is not None:
            self._failure = self._reason(opening.error)
            raise Unavailable(self._failure)
        session: NvmlSession = opening.result
        self._session, self._opened_at = session, now
        return session

    def _reason(self, error: Exception) -> str:
        if isinstance(error, NvmlError):
            if error.code == abi.NO_PERMISSION:
                return f"no permission to use the NVIDIA driver: {PERMISSION_HINT}"
            return f"the NVIDIA driver failed: {error}"
        if isinstance(error, (OSError, DriverTooOldError)):
            return f"no NVIDIA driver: {error}"
        return f"{type(error).__name__}: {error}"

    def _update_lost(self, gpu: NvmlGpu, question: DriverCall, *, late: bool) -> None:
        """Record a lost or recovered GPU; close a driver that is gone."""
        error = question.error
        if isinstance(error, NvmlError) and error.code in OVER:
            if not self._find_hanging():
                self._close(self._reason(error))
            raise Unavailable(self._reason(error))
        if late and not question.done:  # slow on a busy machine, not lost
            gpu.lost = "hangs; retried when its last call returns"
        elif isinstance(error, NvmlError) and error.code in LOST:
            gpu.lost = str(error)
        elif error is None:
            gpu.lost = ""

    def _listen(self, session: NvmlSession, wanted: bool) -> list[DriverCall]:
        if not wanted or self._stuck or not self._listening.done:
            return []  # they wait in the driver
        heard = self._listening.result or []
        self._listening = DriverCall(lambda: [*heard, *session.xids()])
        return [self._listening]

    def _run(self, questions: list[DriverCall]) -> None:
        short = self._deadline / 10
        self._lane.deadline = short if self._stuck else self._deadline
        run_all(self._lane, questions, short)

    def _drop_returned(self) -> None:
        self._stuck = {index: question for index, question in self._stuck.items() if not question.done}

    def _find_hanging(self) -> str:
        """Return what is still in the driver on an abandoned thread: nothing may be closed then."""
        self._drop_returned()
        if self._stuck:
            return f"GPU {format_number_list(self._stuck)}"
        if not self._listening.done:
            return "the event listener"
        return "opening it" if self._opening and not self._opening.done else ""

    def _close(self, why: str) -> bool:
        """Close every handle; return whether that is complete."""
        self._failure, session, opened = why, self._session, self._opening
        self._session = self._opening = None
        self._tried_at = float("-inf")
        closing = [DriverCall(each.close) for each in (session, opened and opened.result) if each]
        self._run(closing)
        return all(question.done for question in closing)


def _find_gpu(ask: Callable[[NvmlGpu], Any], gpu: NvmlGpu) -> Callable[[], Any]:
    return lambda: ask(gpu)
