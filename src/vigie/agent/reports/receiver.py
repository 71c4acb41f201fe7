"""The socket that programs on this node report to, and the table that it becomes.

The kernel says which process of which user sent a datagram. A flood costs little: after some datagrams the
socket rests for the remainder of a tenth of a second, its queue is full, and senders throw theirs away.
"""

from __future__ import annotations

import asyncio
import logging
import pwd
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from vigie.agent.gpu_processes import gpu_memory_of_processes
from vigie.agent.reports.datagram import (
    ANCILLARY,
    MOST_BYTES,
    InvalidReportError,
    parse_report,
    sender_of,
)
from vigie.agent.reports.processes import ReportingProcesses, identify
from vigie.agent.source_reader import SourceReader
from vigie.common.unix_listen import BoundPath, bind_unix
from vigie.model import Table
from vigie.model.table import Series
from vigie.wire.agent_series import REPORTED, REPORTS_RECEIVED, REPORTS_REFUSED

log = logging.getLogger(__name__)

NAME = "report.sock"
MODE = 0o666  # every user of this machine may report; the kernel says who it is
TURN_SECONDS, PER_TURN = 0.1, 300
BATCH = 50  # datagrams before others on the event loop have their turn
LOG_SECONDS = 60.0
MOST_USERS = 1024


class ReportReceiver:
    """Takes reports from when it is opened until it is closed."""

    def __init__(
        self,
        readings: Sequence[SourceReader],
        clock: Callable[[], float] = time.monotonic,
        identify: Callable[[int], tuple[str, str]] = identify,
    ) -> None:
        self._readings, self._clock = readings, clock
        self._processes = ReportingProcesses(identify, clock)
        self._users: dict[int, str] = {}
        self._outcomes = Counter[bool]()
        self._socket: socket.socket | None = None
        self._place: BoundPath | None = None
        self._turn_ends, self._left = float("-inf"), PER_TURN
        self._waking: asyncio.TimerHandle | None = None
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._logged = float("-inf")
        self._table = Table("reports", 0, ())

    def open(self, path: Path) -> None:
        """Listen at a path, or raise UnixSocketError."""
        self._socket = bind_unix(path, socket.SOCK_DGRAM, MODE)
        self._place = BoundPath(path)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        asyncio.get_running_loop().add_reader(self._socket, self._receive)

    def close(self) -> None:
        """Listen no more."""
        if self._socket is None or self._place is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        if self._waking:
            self._waking.cancel()
        self._socket.close()
        self._place.remove()
        self._socket = None

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return how many reports came, and the last values of processes that are still there.

        As long as the socket is closed it has no series, and version 0.
        """
        if self._socket is None:
            return self._table, ()
        series: list[Series] = [(REPORTS_RECEIVED, ()), (REPORTS_REFUSED, ())]
        values = [float(self._outcomes[True]), float(self._outcomes[False])]
        for process in self._processes.alive(gpu_memory_of_processes(self._readings)):
            pid, uid = process.sender
            user = self._users.get(uid)
            if user is None:
                continue  # until it is known whose it is
            for measure, value in process.values.items():
                labels = measure, process.rank, process.gpu, str(pid), process.job_id, user
                series.append((REPORTED, labels))
                values.append(value)
        if tuple(series) != self._table.series:
            self._table = Table("reports", self._table.version + 1, tuple(series))
        return self._table, tuple(values)

    def _receive(self) -> None:
        """Take the datagrams that wait, as many as this turn allows."""
        assert self._socket is not None
        now = self._clock()
        if now >= self._turn_ends:
            self._turn_ends, self._left = now + TURN_SECONDS, PER_TURN
        for _ in range(min(BATCH, self._left)):
            try:
                data, ancillary, _, _ = self._socket.recvmsg(MOST_BYTES + 1, ANCILLARY)
            except OSError:  # none is left
                return
            self._left -= 1
            self._take(data, ancillary)
        if self._left <= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            self._waking = loop.call_later(max(self._turn_ends - now, 0), self._wake)

    def _wake(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._receive)

    def _take(self, data: bytes, ancillary: Sequence[tuple[int, int, bytes]]) -> None:
        pid = 0
        try:
            sender = sender_of(ancillary)
            pid = sender.pid
            self._processes.take(sender, parse_report(data))
            self._find_user(sender.uid)
        except InvalidReportError as error:
            self._outcomes[False] += 1
            self._complain(pid, error)
        else:
            self._outcomes[True] += 1

    def _complain(self, pid: int, error: InvalidReportError) -> None:
        """Log why a report was left out, once a minute: whoever sends garbage may send much."""
        if self._clock() - self._logged >= LOG_SECONDS:
            self._logged = self._clock()
            log.warning("a report of process %d is left out: %s", pid, error)

    def _find_user(self, uid: int) -> None:
        """Learn a user's name, beside the loop: a directory service may take its time."""
        if uid in self._users or uid in self._asking:
            return
        if len(self._users) >= MOST_USERS:
            self._users.clear()
        self._asking[uid] = asyncio.ensure_future(self._learn_user(uid))

    async def _learn_user(self, uid: int) -> None:
        self._users[uid] = await asyncio.to_thread(_user_name, uid)
        del self._asking[uid]


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OSError):
        return str(uid)
