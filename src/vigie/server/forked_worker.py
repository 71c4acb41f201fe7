"""A process forked for one question: it writes its answer into a pipe and is gone."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable

from vigie.query.errors import ExecutionError, QueryError, QueryTimeoutError, error_of_kind

MEMORY = 8 << 30  # bytes that a question may take beside what it shares with the server
GRACE = 1.0  # seconds beyond the question's own time-out, in which it can say so itself
PIPE_BYTES = 1 << 20
NICER = 5
_HEAD = struct.Struct("<BQ")  # 0 for an answer and 1 for an error, then the length of what follows
_ANSWER, _ERROR = 0, 1
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class ForkedWorker:
    """Forks, waits, collects; ends the process whatever happens."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds + GRACE
        self._guard = threading.Lock()  # a process is not killed once its number may be another's
        self._pid = 0
        self._pipe = -1
        self._killed = False

    def start(self, prepare: Callable[[], None], work: Callable[[], bytes]) -> None:
        """Fork; the child prepares itself and works."""
        self._pipe, inlet = os.pipe()
        parent = os.getpid()
        try:
            pid = os.fork()
            if pid == 0:
                _live(inlet, parent, prepare, work)
        except OSError as error:
            os.close(self._pipe)
            raise ExecutionError(f"no process could be made for the query: {error.strerror}") from error
        finally:
            os.close(inlet)
        with self._guard:
            self._pid = pid

    def kill(self) -> None:
        """End the process, if it still runs."""
        with self._guard:
            self._killed = True
            if self._pid:
                os.kill(self._pid, signal.SIGKILL)

    def answer(self) -> bytes:
        """Return the answer, or raise what the child raised."""
        content = bytearray()
        timely = False
        try:
            timely = self._read(content)
        finally:
            if not timely:
                self.kill()
            status = self._bury()
        if not timely:
            raise QueryTimeoutError("query timed out in expression evaluation")
        return _unpacked(content, status)

    def _read(self, content: bytearray) -> bool:
        """Read to the end; tell whether that came in time."""
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        while (left := self._deadline - time.monotonic()) > 0 and not self._killed:
            if poll.poll(left * 1000):
                part = os.read(self._pipe, PIPE_BYTES)
                if not part:
                    return True
                content += part
        return False

    def _bury(self) -> int:
        with self._guard:
            pid, self._pid = self._pid, 0
        _, status = os.waitpid(pid, 0)
        os.close(self._pipe)
        return os.waitstatus_to_exitcode(status)


def _unpacked(content: bytearray, status: int) -> bytes:
    if len(content) >= _HEAD.size:
        kind, length = _HEAD.unpack_from(content)
        body = bytes(memoryview(content)[_HEAD.size :])
        if len(body) == length:
            if kind == _ANSWER:
                return body
            raise error_of_kind(*json.loads(body))
    reason = signal.Signals(-status).name if status < 0 else f"exit code {status}"
    raise ExecutionError(
        f"the process that worked on the query ended early ({reason}); ask for less, or again"
    )


def _live(inlet: int, parent: int, prepare: Callable[[], None], work: Callable[[], bytes]) -> None:
    """Be the child, from the fork to the end."""
    code = 1
    try:
        _settle(inlet, parent)
        prepare()
        _write(inlet, *_worked(work))
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as a second server
        with contextlib.suppress(OSError):
            traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(code)


def _settle(inlet: int, parent: int) -> None:
    """Let go of everything that is the server's, and be the first to die when memory is short."""
    gc.disable()  # a collection would touch, and so copy, every page that is shared
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    _let_go(inlet)
    os.nice(NICER)
    with contextlib.suppress(OSError):
        fcntl.fcntl(inlet, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))


def _let_go(inlet: int) -> None:
    """Close what must end when the server closes it, such as sockets; the store needs its files."""
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            if number > 2 and number != inlet and not stat.S_ISREG(os.fstat(number).st_mode):
                os.close(number)


def _worked(work: Callable[[], bytes]) -> tuple[int, bytes]:
    try:
        return _ANSWER, work()
    except QueryError as error:
        return _ERROR, _packed(error)
    except MemoryError:
        return _ERROR, _packed(
            ExecutionError("the query needs more memory than a query may take; ask for less")
        )


def _packed(error: QueryError) -> bytes:
    return json.dumps([error.kind, str(error)]).encode()


def _write(inlet: int, kind: int, body: bytes) -> None:
    left = memoryview(_HEAD.pack(kind, len(body)) + body)
    while left:
        left = left[os.write(inlet, left) :]
