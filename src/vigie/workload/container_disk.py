"""Disk space that containers have written: seldom asked for, since their runtime walks through all files."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import NamedTuple

from vigie.sources.core.host import Host
from vigie.workload.runtimes import LIST, RuntimeNotAnsweringError, Runtimes, ask, parse_list

NEW = 60.0  # seconds after which a container that is not known yet is asked for, if that is sooner
DEADLINE = 60.0


class DiskUsage(NamedTuple):
    """What a container has written, and the file system that it is on."""

    used_bytes: float
    device: str
    size_bytes: float | None


class ContainerDisks:
    """Asks the runtimes on a thread of its own: it may take a minute, and nobody waits for it."""

    def __init__(self, host: Host, runtimes: Runtimes, every: float) -> None:
        self._host, self._runtimes, self._every = host, runtimes, every
        self._usage: dict[str, DiskUsage] = {}
        self._asked = float("-inf")
        self._thread: threading.Thread | None = None

    def usage(self, ids: Collection[str]) -> dict[str, DiskUsage]:
        """Return what is known of containers; asked again in the background when it is time."""
        now = time.monotonic()
        idle = self._thread is None or not self._thread.is_alive()
        pause = self._every if all(one in self._usage for one in ids) else min(self._every, NEW)
        places = list(self._runtimes.sockets()) if ids and idle and now - self._asked > pause else []
        if places:
            self._asked = now
            self._thread = threading.Thread(target=self._ask, args=(places,), name="disk use", daemon=True)
            self._thread.start()
        return self._usage

    def _ask(self, places: list[tuple[str, str]]) -> None:
        found: dict[str, DiskUsage] = {}
        for runtime, path in places:
            try:
                listed = list(parse_list(runtime, ask(self._host, path, f"{LIST}?size=1", DEADLINE)))
                told = ask(self._host, path, "/info")
            except RuntimeNotAnsweringError:
                continue  # the list of names says why
            top = told.get("DockerRootDir") if isinstance(told, dict) else None
            device, size = _file_system(self._host, top if isinstance(top, str) else "/")
            for one in listed:
                if one.size_bytes is not None:
                    found[one.id] = DiskUsage(one.size_bytes, device, size)
        self._usage = found


def _file_system(host: Host, path: str) -> tuple[str, float | None]:
    """Return the device of the file system that a path is on, and its size."""
    best, device = "", ""
    try:
        lines = host.proc.read_once("1/mountinfo").splitlines()
    except OSError:
        lines = []
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, source = left.split(" "), right.split(" ")
        if len(fields) < 5 or len(source) < 2:
            continue
        point = fields[4].rstrip("/")
        if len(point) >= len(best) and f"{path}/".startswith(f"{point}/"):
            best, device = point, source[1]
    try:
        return device, float(host.calls.statvfs(f"{host.root.top.rstrip('/')}{best or '/'}").size)
    except OSError:
        return device, None
