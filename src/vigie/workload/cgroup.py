"""From a cgroup's path to who it was made for: container, Kubernetes pod, Slurm job and step.

The controllers of one process may stand in different cgroups (v1, hybrid), and Slurm nests deeper in some
than in others: whatever any of the paths tells counts, and of two that tell the same the deepest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_PATH = 4096
ID = "[0-9a-f]{64}"
# Runtimes put their name before the id where systemd makes the cgroup; conmon's is not the container's.
PREFIXED = re.compile(rf"^(docker|libpod|libpod-payload|cri-containerd|crio|nerdctl)-({ID})(?:\.scope)?$")
RUNTIMES = {
    "docker": "docker",
    "libpod": "podman",
    "libpod-payload": "podman",
    "cri-containerd": "containerd",
    "crio": "cri-o",
    "nerdctl": "containerd",
}
BARE = re.compile(rf"^{ID}$")
PODMAN_PARENT = "libpod_parent"  # pods of Podman are below it, by their id
POD = re.compile(
    r"^(?:kubepods[a-z-]*-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$"
)
SLURM = re.compile(r"^slurm(?:_(?P<v1>[\w.-]+))?$|^(?:(?P<v2>[\w.-]+)_)?slurmstepd\.scope$")
JOB = re.compile(r"^job_([0-9]{1,10})$")
SLUID = re.compile(r"^s[0-9A-Z]{13}$")
UID = re.compile(r"^uid_([0-9]{1,10})$")
STEP = re.compile(r"^step_(\w{1,20})$")


class CgroupOwner(NamedTuple):
    """Whom a cgroup was made for; what its path does not tell is empty."""

    runtime: str = ""
    container: str = ""  # 64 hex digits, but for containerd's own names
    pod: str = ""  # Kubernetes's uid of it
    job: str = ""  # Slurm's number
    sluid: str = ""  # instead of the number from Slurm 26.05 on
    step: str = ""
    uid: str = ""  # the job's user
    slurmd: str = ""  # the node's name, where one machine runs several

    def __bool__(self) -> bool:
        return bool(self.container or self.pod or self.job or self.sluid)


NOBODY = CgroupOwner()


def parse_paths(text: str) -> list[str]:
    """Return the paths in a /proc/PID/cgroup, each once, the deepest last."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and parts[2].startswith("/") and len(parts[2]) <= MAX_PATH:
            found[parts[2].removesuffix(" (deleted)")] = None
    return sorted(found, key=lambda path: (path.count("/"), path))


def identify_process(text: str) -> CgroupOwner:
    """Return whom a process runs for, from its /proc/PID/cgroup."""
    return merge_owners(map(identify, parse_paths(text)))


def merge_owners(owners: Iterable[CgroupOwner]) -> CgroupOwner:
    """Return what they tell together; of two that tell the same thing, the later."""
    merged = NOBODY
    for owner in owners:
        merged = CgroupOwner(*(new or old for new, old in zip(owner, merged)))
    return merged


def identify(path: str) -> CgroupOwner:
    """Return whom the cgroup at a path, or one that it stands in, was made for."""
    parts = path.split("/")
    found = NOBODY
    for place, part in enumerate(parts):
        parent = parts[place - 1] if place else ""
        found = found._replace(**dict(_words(part, parent, found, last=parts[place + 1 :])))
    return found


def _words(part: str, parent: str, found: CgroupOwner, last: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what one name on a path tells."""
    prefixed = PREFIXED.match(part)
    if prefixed:
        yield "runtime", RUNTIMES[prefixed[1]]
        yield "container", prefixed[2]
    elif BARE.match(part) and parent != PODMAN_PARENT:
        # Below Kubernetes any runtime may have made it.
        yield "runtime", "" if found.pod else "docker"
        yield "container", part
    elif pod := POD.match(part):
        yield "pod", pod[1].replace("_", "-")
    elif SLURM.match(part):
        yield from _slurm(part, last)


def _slurm(part: str, below: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what stands below Slurm's own cgroup."""
    own = SLURM.match(part)
    assert own
    patterns = (("uid", UID), ("job", JOB), ("step", STEP))
    for name in below[:4]:
        if own["v1"] is None and SLUID.match(name):
            yield "sluid", name
        for word, pattern in patterns:
            if match := pattern.match(name):
                yield word, match[1]
    yield "slurmd", own["v1"] or own["v2"] or ""
