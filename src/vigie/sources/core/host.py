"""A source's access to the machine. Everything goes through here, so that a recording can replace it."""

from __future__ import annotations

import importlib
import os
import pwd
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from vigie.model import Binding, Event, EventChange, Phase
from vigie.sources.core.command import run_command
from vigie.sources.core.driver import GpuDriver
from vigie.sources.core.timex import Timex, adjtimex
from vigie.sources.core.tree import FileBudget, Tree, read_page, to_printable

if TYPE_CHECKING:
    from vigie.sources.core.dbus import BusCall
    from vigie.sources.core.ethtool import Ethtool
    from vigie.sources.core.netlink import Qdisc

MAX_NOTES = 32
MAX_BINDINGS = 16_384  # of one source; Slurm's has those of a whole cluster
MAX_EVENT_CHANGES = 512  # per source, until the agent collects them with the next frame
MAX_OPEN_FILES = 384


class Statvfs(NamedTuple):
    """Result of statvfs(2), in bytes and inodes."""

    size: int
    free: int
    available: int
    files: int
    files_free: int
    read_only: bool


class SystemCalls:
    """What no file provides. A recorded machine replays the recorded results."""

    page_size = os.sysconf("SC_PAGE_SIZE")
    ticks = os.sysconf("SC_CLK_TCK")

    def time(self) -> float:
        """Return the wall clock in seconds."""
        return time.time()

    def time_zone(self) -> tuple[str, int]:
        """Return the local time zone's name and its offset from UTC in seconds."""
        now = time.localtime()
        return now.tm_zone, now.tm_gmtoff

    def uname(self) -> tuple[str, str, str, str, str]:
        """Return sysname, nodename, release, version and machine."""
        system = os.uname()
        return system.sysname, system.nodename, system.release, system.version, system.machine

    def user_name(self, uid: int) -> str:
        """Return a user's name, which may come from a directory on the network, or nothing."""
        try:
            return pwd.getpwuid(uid).pw_name
        except (KeyError, OverflowError):
            return ""

    def adjtimex(self) -> Timex:
        """Return the kernel's clock discipline, or raise OSError."""
        return adjtimex()

    def amdsmi(self) -> Any:
        """Return AMD's Python package, or raise ImportError."""
        return importlib.import_module("amdsmi")

    def run(self, argv: Sequence[str], environment: Mapping[str, str], seconds: float) -> Iterator[str]:
        """Yield the lines that a program prints, or raise OSError or CommandError."""
        return run_command(argv, environment, seconds)

    def statvfs(self, path: str) -> Statvfs:
        """Return the size of a mounted file system, or raise OSError. May block forever."""
        s = os.statvfs(path)
        unit = s.f_frsize
        return Statvfs(
            s.f_blocks * unit,
            s.f_bfree * unit,
            s.f_bavail * unit,
            s.f_files,
            s.f_ffree,
            bool(s.f_flag & os.ST_RDONLY),
        )

    # Imported when called: only sources that are off by default call them.

    def ethtool(self, device: str) -> Ethtool:
        """Return what an interface's driver tells, or raise OSError."""
        from vigie.sources.core.ethtool import ethtool

        return ethtool(device)

    def qdiscs(self) -> list[Qdisc]:
        """Return the root queueing disciplines of all interfaces, or raise OSError."""
        from vigie.sources.core.netlink import qdiscs

        return qdiscs()

    def bus(self, address: str, calls: Sequence[BusCall]) -> list[Any]:
        """Return the answers to some calls on a D-Bus socket, None for one refused, or raise OSError."""
        from vigie.sources.core.dbus import call

        return call(address, calls)


class HostRoots(NamedTuple):
    """Mount points of the machine's file systems."""

    proc: str = "/proc"
    sys: str = "/sys"
    root: str = "/"


class Host:
    """One source's access to one machine, and its state between reads."""

    def __init__(
        self,
        roots: HostRoots = HostRoots(),  # noqa: B008 - immutable
        *,
        calls: SystemCalls | None = None,
        options: Mapping[str, str] | None = None,
        budget: FileBudget | None = None,
        nvml: GpuDriver | None = None,
    ) -> None:
        self.calls = calls or SystemCalls()
        self.nvml = nvml  # NVIDIA's driver, shared by its sources
        self.options: Mapping[str, str] = options or {}
        self.cache: dict[str, Any] = {}
        self.notes: dict[str, str] = {}
        self.bindings: list[Binding] = []
        self.event_changes: deque[EventChange] = deque(maxlen=MAX_EVENT_CHANGES)
        self.persistent: dict[str, str] = {}  # survives a restart of the agent
        self.on_close: list[Callable[[], object]] = []  # called once, in reverse order
        self.reserved_names: frozenset[str] = frozenset()  # metric names that other sources declare
        self.proc = Tree(roots.proc, budget, self.note)
        self.sys = Tree(roots.sys, budget, self.note, read_page)  # sysfs returns an attribute in one read
        self.root = Tree(roots.root, budget, self.note)

    def note(self, where: str, error: object) -> None:
        """Record why something could not be read. The source continues with the rest."""
        if len(self.notes) < MAX_NOTES:
            reason = str((isinstance(error, OSError) and error.strerror) or error)
            # Names and contents need not be UTF-8, but a report must be.
            self.notes[to_printable(where)] = to_printable(reason)

    def bind(
        self,
        resource: str,
        holder_kind: str,
        holder: str,
        *,
        from_ms: int = 0,
        user: str = "",
        **facts: str,
    ) -> None:
        """Report a current binding, during a read. One that the next read does not report has ended."""
        self.add_binding(Binding(resource, holder_kind, holder, from_ms=from_ms, user=user, facts=facts))

    def add_binding(self, binding: Binding) -> None:
        """Report a binding, during a read: a current one, or with its end one that is over."""
        if len(self.bindings) < MAX_BINDINGS:
            self.bindings.append(binding)
        else:
            self.note(binding.resource, f"more than {MAX_BINDINGS} bindings: the rest is dropped")

    def report_event(
        self,
        kind: str,
        what: str,
        *,
        phase: Phase = Phase.ONCE,
        time_ms: int | None = None,
        severity: str = "warning",
        **where: str,
    ) -> None:
        """Report, during a read, an event, or the begin or end of a state."""
        begin = round(self.calls.time() * 1000) if time_ms is None else time_ms
        self.event_changes.append(EventChange(Event(kind, begin, what, where, severity=severity), phase))

    def end_read(self) -> None:
        """Finish one read of the source."""
        for tree in self._trees():
            if tree.files:
                tree.end_read()

    def close(self) -> None:
        """Release every open file and library."""
        for tree in self._trees():
            tree.close()
        while self.on_close:
            self.on_close.pop()()

    def _trees(self) -> tuple[Tree, Tree, Tree]:
        return self.proc, self.sys, self.root
