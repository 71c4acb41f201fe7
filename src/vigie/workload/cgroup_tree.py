"""The cgroups of a machine: where each controller's tree is, and which cgroups are containers or jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.sources.core.host import Host
from vigie.sources.core.source import Unavailable
from vigie.workload.cgroup import CgroupOwner, identify

TOP = "fs/cgroup"
UNIFIED = "unified"  # where a hybrid machine has its tree of version 2
MAX_CGROUPS = 20_000
MAX_DEPTH = 16
WALKED = ("memory", "cpuacct", "cpu", "pids", "blkio")  # the first of these that is there tells what exists


class CgroupTrees(NamedTuple):
    """Where the trees are, below /sys."""

    version: int
    walked: str
    roots: dict[str, str]  # by controller; version 2 has one for all
    pressure: str  # empty where there is none

    def root(self, controller: str) -> str:
        """Return a controller's tree, or nothing."""
        return self.walked if self.version == 2 else self.roots.get(controller, "")


def find_trees(host: Host) -> CgroupTrees:
    """Return the machine's trees, or raise Unavailable."""
    if host.sys.exists(f"{TOP}/cgroup.controllers"):
        return CgroupTrees(2, TOP, {}, TOP)
    names = [name for name in host.sys.list_names(TOP) if name != UNIFIED]
    roots = {controller: f"{TOP}/{name}" for name in names for controller in name.split(",")}
    walked = next((roots[name] for name in WALKED if name in roots), "")
    if not walked:
        raise Unavailable("there are no cgroups at /sys/fs/cgroup")
    unified = f"{TOP}/{UNIFIED}"
    return CgroupTrees(1, walked, roots, unified if host.sys.exists(f"{unified}/cpu.pressure") else "")


def find_cgroups(host: Host, trees: CgroupTrees) -> dict[str, CgroupOwner]:
    """Return the cgroups of containers and of jobs, by path; not those that are inside a container."""
    known: dict[str, CgroupOwner] = host.cache.setdefault("owners", {})
    found: dict[str, CgroupOwner] = {}
    seen: dict[str, CgroupOwner] = {}
    for path in _walk(host, trees, known, seen):
        owner = seen[path]
        if owner.container or ((owner.job or owner.sluid) and _is_job(path, owner)):
            found[path] = owner
    host.cache["owners"] = seen  # what is gone is forgotten
    return found


def _walk(
    host: Host,
    trees: CgroupTrees,
    known: dict[str, CgroupOwner],
    seen: dict[str, CgroupOwner],
) -> Iterator[str]:
    todo = [""]
    while todo:
        here = todo.pop()
        for name in host.sys.list_folders(f"{trees.walked}{here}"):
            path = f"{here}/{name}"
            owner = known.get(path)
            seen[path] = identify(path) if owner is None else owner
            if len(seen) > MAX_CGROUPS:
                host.note(f"/sys/{trees.walked}", f"more than {MAX_CGROUPS} cgroups: the rest is not read")
                return
            yield path
            if not seen[path].container and path.count("/") < MAX_DEPTH:
                todo.append(path)


def _is_job(path: str, owner: CgroupOwner) -> bool:
    """Tell whether the cgroup is the job's own, not that of a step or task in it."""
    return path.rpartition("/")[2] in (f"job_{owner.job}", owner.sluid)
