"""The machine as a source sees it: every access goes through here, so a recording can stand in."""

from __future__ import annotations

import importlib
import os
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from vigie.model import Binding, Event, EventChange, Phase
from vigie.sources.core.timex import Timex, adjtimex
from vigie.sources.core.tree import FileBudget, Tree, page, printable

if TYPE_CHECKING:
    from vigie.sources._nvml.driver import NvmlDriver

MAX_NOTES = 32
MAX_BINDINGS = 1024  # of one source on one machine
MAX_HAPPENINGS = 512  # of one source, until the agent takes them with its next frame
MAX_OPEN_FILES = 384


class Statvfs(NamedTuple):
    """The answer of statvfs(2), in bytes and inodes."""

    size: int
    free: int
    available: int
    files: int
    files_free: int
    read_only: bool


class SystemCalls:
    """System calls that no file stands for; a recorded machine answers from its recording."""

    page_size = os.sysconf("SC_PAGE_SIZE")
    ticks = os.sysconf("SC_CLK_TCK")

    def time(self) -> float:
        """Return the wall clock in seconds."""
        return time.time()

    def zone(self) -> tuple[str, int]:
        """Return the local time zone's name and its offset from UTC in seconds."""
        now = time.localtime()
        return now.tm_zone, now.tm_gmtoff

    def uname(self) -> tuple[str, str, str, str, str]:
        """Return sysname, nodename, release, version and machine."""
        answer = os.uname()
        return answer.sysname, answer.nodename, answer.release, answer.version, answer.machine

    def adjtimex(self) -> Timex:
        """Return the kernel's clock discipline, or raise OSError."""
        return adjtimex()

    def amdsmi(self) -> Any:
        """Return AMD's Python package, or raise ImportError."""
        return importlib.import_module("amdsmi")

    def statvfs(self, path: str) -> Statvfs:
        """Return the size of a mounted file system, or raise OSError; it may hang for ever."""
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


class HostRoots(NamedTuple):
    """Where the machine's files are."""

    proc: str = "/proc"
    sys: str = "/sys"
    root: str = "/"


class Host:
    """One source's view of one machine, with what that source keeps between two reads."""

    def __init__(
        self,
        roots: HostRoots = HostRoots(),  # noqa: B008 - immutable
        *,
        calls: SystemCalls | None = None,
        options: Mapping[str, str] | None = None,
        budget: FileBudget | None = None,
        nvml: NvmlDriver | None = None,
    ) -> None:
        self.calls = calls or SystemCalls()
        self.nvml = nvml  # NVIDIA's driver, shared by its sources
        self.options: Mapping[str, str] = options or {}
        self.memory: dict[str, Any] = {}
        self.notes: dict[str, str] = {}
        self.bindings: list[Binding] = []
        self.happenings: deque[EventChange] = deque(maxlen=MAX_HAPPENINGS)
        self.lasting: dict[str, str] = {}  # what the source knows again after a restart of the agent
        self.closing: list[Callable[[], object]] = []  # called once when the host is closed
        self.reserved: frozenset[str] = frozenset()  # names of metrics that other sources declare
        self.proc = Tree(roots.proc, budget, self.note)
        self.sys = Tree(roots.sys, budget, self.note, page)  # an attribute comes whole in one read
        self.root = Tree(roots.root, budget, self.note)

    def note(self, where: str, error: object) -> None:
        """Remember why one thing could not be read; the rest of the source goes on."""
        if len(self.notes) < MAX_NOTES:
            reason = str((isinstance(error, OSError) and error.strerror) or error)
            # Names and contents that are no UTF-8 must not make a report unprintable.
            self.notes[printable(where)] = printable(reason)

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
        """Say, during a read, who holds what now; what is not said at the next read has ended."""
        if len(self.bindings) < MAX_BINDINGS:
            self.bindings.append(
                Binding(resource, holder_kind, holder, from_ms=from_ms, user=user, facts=facts)
            )
        else:
            self.note(resource, f"more than {MAX_BINDINGS} bindings: the rest is not told")

    def happened(
        self,
        kind: str,
        what: str,
        *,
        phase: Phase = Phase.ONCE,
        time_ms: int | None = None,
        severity: str = "warning",
        **where: str,
    ) -> None:
        """Say, during a read, that something happened, or that a state has begun or ended."""
        begin = round(self.calls.time() * 1000) if time_ms is None else time_ms
        self.happenings.append(EventChange(Event(kind, begin, what, where, severity=severity), phase))

    def turn(self) -> None:
        """End one reading."""
        for tree in self._trees():
            if tree.files:
                tree.turn()

    def close(self) -> None:
        """Let go of everything held on the machine."""
        for tree in self._trees():
            tree.close()
        while self.closing:
            self.closing.pop()()

    def _trees(self) -> tuple[Tree, Tree, Tree]:
        return self.proc, self.sys, self.root
