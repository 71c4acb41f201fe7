"""The file system of a data directory: its type, and its free space."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from vigie.store.errors import StoreError, WriteFailedError

STORE_DIRECTORY = "store"  # in the data directory of a server

# Their locks and syncs are not reliable enough.
REMOTE = (
    "nfs",
    "nfs4",
    "lustre",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "ceph",
    "beegfs",
    "gpfs",
    "afs",
    "fuse.sshfs",
)
MOUNTS = Path("/proc/self/mounts")


class DiskSpace(NamedTuple):
    free: int
    total: int


class SpaceLimits(NamedTuple):
    """Shares of the file system that must be free: below the first, warn; below the second, refuse writes."""

    warn: float = 0.05
    refuse: float = 0.01


def disk_space(directory: Path) -> DiskSpace:
    found = os.statvfs(directory)
    return DiskSpace(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)


def refuse_remote(directory: Path, mounts: Path = MOUNTS) -> None:
    """Raise if the directory is on a network file system."""
    kind, mount_point = _find_mount(directory.absolute(), mounts)
    if kind in REMOTE:
        raise StoreError(
            f"{directory} is on {kind} (mounted at {mount_point}), where locks and syncs are not reliable "
            "enough for a store; choose a local directory: --data DIR"
        )


class SpaceMonitor:
    """Warns when free space is low, and refuses writes when there is almost none."""

    def __init__(
        self,
        directory: Path,
        limits: SpaceLimits,
        space: Callable[[Path], DiskSpace],
        warn: Callable[[str], None],
    ) -> None:
        self._directory, self._limits, self._space, self._warn = directory, limits, space, warn
        self._warned = False
        self._refusal = ""

    def measure(self) -> None:
        """Check the free space; warn once each time it becomes low."""
        free, total = self._space(self._directory)
        text = f"{free} of {total} bytes are free on the file system of {self._directory}"
        short = free < total * self._limits.warn
        if short and not self._warned:
            self._warn(f"{text}; free some space or reduce the retention")
        self._warned = short
        self._refusal = (
            f"{text}, so writes are refused; free some space" if free < total * self._limits.refuse else ""
        )

    def check(self) -> None:
        """Raise if there was almost no free space at the last measurement."""
        if self._refusal:
            raise WriteFailedError(self._refusal)


def _find_mount(directory: Path, mounts: Path) -> tuple[str, str]:
    best = ("", "")
    for line in mounts.read_text(errors="replace").splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount_point = fields[1].replace("\\040", " ")
        inside = directory == Path(mount_point) or Path(mount_point) in directory.parents
        if inside and len(mount_point) >= len(best[1]):
            best = (fields[2], mount_point)
    return best
