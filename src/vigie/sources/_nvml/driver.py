"""NVIDIA's driver, shared by all sources of a process: opened, released and reopened."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

from vigie.sources._number_lists import format_number_list
from vigie.sources._nvml import abi
from vigie.sources._nvml.call import DriverCall
from vigie.sources._nvml.gpu import HOST_LABEL, LOST, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.session import DriverTooOldError, NvmlSession
from vigie.sources.core.lane import Lane, run_all
from vigie.sources.core.source import Unavailable

LIBRARY = "libnvidia-ml.so.1"
DEADLINE = 0.5  # seconds per GPU; while one hangs, the others get a tenth
RETRY = 5.0  # seconds between attempts to open a driver that fails
REOPEN = 60.0  # seconds until a driver with a lost GPU is reopened to find it again
RAREST = 4  # maximum factor: the wait doubles each time, as reopening costs the other GPUs their rates
OVER = (abi.UNINITIALIZED, abi.DRIVER_NOT_LOADED, abi.VERSIONS_DIFFER)
GIVE = "add the agent's user to the group of /dev/nvidia*, or run the agent as root"


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
        self._tried = float("-inf")
        self._opened = 0.0
        self._pause = reopen  # until it is reopened
        self._awaited: set[str] = set()  # lost GPUs: the driver may have been reopened without them
        self._why = ""
        self._stuck: dict[int, DriverCall] = {}
        self._listening = DriverCall(list)
        self._listening()
        self._released: tuple[float, str] | None = None
        self.closed_with: list[Callable[[], object]] = []  # other users of the GPUs

    def each(
        self, ask: Callable[[NvmlGpu], Any], *, listen: bool = False
    ) -> list[tuple[NvmlGpu, DriverCall]]:
        """Call the function for each GPU, or raise Unavailable. A GPU without a result hangs.

        With `listen`, XIDs are collected too, for `xids`.
        """
        with self._lock:
            session = self._ready()
            self._forget_answered()
            asked = [(gpu, self._stuck.get(gpu.index) or DriverCall(_of(ask, gpu))) for gpu in session.gpus]
            fresh = [question for gpu, question in asked if gpu.index not in self._stuck]
            self._run([*fresh, *self._listen(session, listen)])
            before, self._stuck = self._stuck, {g.index: q for g, q in asked if not q.answered}
            for gpu, question in asked:
                self._judge(gpu, question, late=gpu.index in before)
            # A GPU that hung may by now have the result of another caller.
            return [(gpu, NOT_YET if gpu.index in before else question) for gpu, question in asked]

    def xids(self) -> list[tuple[NvmlGpu, int]]:
        """Return the XIDs since the last call."""
        with self._lock:
            heard = self._listening.answer or []
            self._listening.answer = None
            return heard

    def gpus(self) -> list[NvmlGpu]:
        """Return the GPUs found when the driver was opened."""
        return self._session.gpus if self._session else []

    def refused(self) -> dict[int, NvmlError]:
        """Return the GPUs that could not be identified, with reasons."""
        return self._session.refused if self._session else {}

    def release(self, seconds: float, by: str) -> str:
        """Close every handle for a time. Return the reason if that fails."""
        with self._lock:
            hanging = self._hanging()
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
        self._tried = float("-inf")

    def close(self) -> None:
        """Release the driver for good."""
        with self._lock:
            if not self._hanging():
                self._close("closed")
            self._lane.close()

    def _ready(self) -> NvmlSession:
        now = time.monotonic()
        if self._released:
            until, why = self._released
            if now < until:
                raise Unavailable(why)
            self.resume()
        if self._lost():
            if now - self._opened > self._pause and not self._hanging():
                self._pause = min(2 * self._pause, RAREST * self._reopen)
                self._close("a GPU was lost: reopening the driver")
        elif self._session:
            self._pause = self._reopen
        return self._session or self._open(now)

    def _lost(self) -> bool:
        """Return whether reopening the driver may bring a lost GPU back."""
        self._awaited -= {gpu.uuid for gpu in self.gpus() if not gpu.lost}
        self._awaited |= {gpu.uuid for gpu in self.gpus() if gpu.lost}
        refused = any(error.code != abi.NO_PERMISSION for error in self.refused().values())
        return refused or bool(self._session and self._awaited)

    def _open(self, now: float) -> NvmlSession:
        if self._opening is None:
            if now - self._tried < self._retry:
                raise Unavailable(self._why)
            self._tried = now
            self._opening = DriverCall(lambda: NvmlSession(self.library))
            self._run([self._opening])
        if not self._opening.answered:
            raise Unavailable(f"{self.library} has been opening for {now - self._tried:.0f}s")
        opening, self._opening = self._opening, None
        if opening.error is not None:
            self._why = self._reason(opening.error)
            raise Unavailable(self._why)
        session: NvmlSession = opening.answer
        self._session, self._opened = session, now
        return session

    def _reason(self, error: Exception) -> str:
        if isinstance(error, NvmlError):
            if error.code == abi.NO_PERMISSION:
                return f"no permission to use the NVIDIA driver: {GIVE}"
            return f"the NVIDIA driver failed: {error}"
        if isinstance(error, (OSError, DriverTooOldError)):
            return f"no NVIDIA driver: {error}"
        return f"{type(error).__name__}: {error}"

    def _judge(self, gpu: NvmlGpu, question: DriverCall, *, late: bool) -> None:
        """Record a lost or recovered GPU; close a driver that is gone."""
        error = question.error
        if isinstance(error, NvmlError) and error.code in OVER:
            if not self._hanging():
                self._close(self._reason(error))
            raise Unavailable(self._reason(error))
        if late and not question.answered:  # slow on a busy machine, not lost
            gpu.lost = "hangs; retried when its last call returns"
        elif isinstance(error, NvmlError) and error.code in LOST:
            gpu.lost = str(error)
        elif error is None:
            gpu.lost = ""

    def _listen(self, session: NvmlSession, wanted: bool) -> list[DriverCall]:
        if not wanted or self._stuck or not self._listening.answered:
            return []  # they wait in the driver
        heard = self._listening.answer or []
        self._listening = DriverCall(lambda: [*heard, *session.xids()])
        return [self._listening]

    def _run(self, questions: list[DriverCall]) -> None:
        short = self._deadline / 10
        self._lane.deadline = short if self._stuck else self._deadline
        run_all(self._lane, questions, short)

    def _forget_answered(self) -> None:
        self._stuck = {index: question for index, question in self._stuck.items() if not question.answered}

    def _hanging(self) -> str:
        """Return what is still in the driver on an abandoned thread: nothing may be closed then."""
        self._forget_answered()
        if self._stuck:
            return f"GPU {format_number_list(self._stuck)}"
        if not self._listening.answered:
            return "the event listener"
        return "opening it" if self._opening and not self._opening.answered else ""

    def _close(self, why: str) -> bool:
        """Close every handle; return whether that is complete."""
        self._why, session, opened = why, self._session, self._opening
        self._session = self._opening = None
        self._tried = float("-inf")
        closing = [DriverCall(each.close) for each in (session, opened and opened.answer) if each]
        self._run(closing)
        return all(question.answered for question in closing)


def _of(ask: Callable[[NvmlGpu], Any], gpu: NvmlGpu) -> Callable[[], Any]:
    return lambda: ask(gpu)
