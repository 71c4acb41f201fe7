"""Where the controller runs, and whom it lets see what."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vigie.sources.core.tree import Tree
from vigie.workload.slurm.records import present

# Debian's, the old Debian's, from source, configless slurmd's.
PATHS = (
    "/etc/slurm/slurm.conf",
    "/etc/slurm-llnl/slurm.conf",
    "/usr/local/etc/slurm.conf",
    "/opt/slurm/etc/slurm.conf",
    "/run/slurm/conf/slurm.conf",
    "/var/spool/slurmd/conf-cache/slurm.conf",
)
MAX_INCLUDES = 16
_HOST = re.compile(r"^\s*(?:SlurmctldHost|ControlMachine|BackupController)\s*=\s*([^\s(#]+)", re.IGNORECASE)
_INCLUDE = re.compile(r"^\s*include\s+(\S+)", re.IGNORECASE)
_CONFIG = re.compile(r"^(\w+(?:\[\d+\])?)\s*= ?(.*)$")
_PING = re.compile(r"Slurmctld\([^)]*\) at (\S+?)(?:\([^)]*\))? is (\w+)")


class Config(NamedTuple):
    """What `scontrol show config` says that matters here."""

    version: str = ""
    slurm_uid: int | None = None
    private: frozenset[str] = frozenset()  # kinds of data that users see only of their own
    metrics: bool = False  # whether slurmctld serves its own metrics
    port: int = 6817


def find_controllers(root: Tree, path: str) -> list[str]:
    """Return the controllers that slurm.conf names, the primary first; none when there is no such file."""
    place = next((one for one in ([path] if path else PATHS) if root.exists(one.lstrip("/"))), "")
    return list(dict.fromkeys(_read_hosts(root, place, MAX_INCLUDES))) if place else []


def is_here(controller: str, host: str) -> bool:
    """Tell whether a controller is this machine.

    >>> is_here("head01", "head01.cluster"), is_here("localhost", "a"), is_here("head01", "head011")
    (True, True, False)
    """
    names = {controller, controller.partition(".")[0]} if not controller[:1].isdecimal() else {controller}
    return controller == "localhost" or bool(names & {host, host.partition(".")[0]})


def parse_config(lines: Iterable[str]) -> Config:
    """Return the configuration; what is not said has its default."""
    found = {match[1]: match[2].strip() for line in lines if (match := _CONFIG.match(line))}
    uid = re.search(r"\((\d+)\)", found.get("SlurmUser", ""))
    port = found.get("SlurmctldPort", "").partition("-")[0]
    private = present(found.get("PrivateData", "").replace("none", ""))
    return Config(
        version=found.get("SLURM_VERSION", ""),
        slurm_uid=int(uid[1]) if uid else None,
        private=frozenset(filter(None, private.split(","))),
        metrics=bool(present(found.get("MetricsType", ""))),
        port=int(port) if port.isdecimal() else 6817,
    )


def parse_ping(lines: Iterable[str]) -> dict[str, bool]:
    """Return which controllers are up.

    >>> parse_ping(["Slurmctld(primary) at a is DOWN", "Slurmctld(backup1) at b is UP"])
    {'a': False, 'b': True}
    """
    found = (match for line in lines if (match := _PING.search(line)))
    return {match[1]: match[2] == "UP" for match in found}


def _read_hosts(root: Tree, path: str, depth: int) -> Iterator[str]:
    for line in root.read_once(path.lstrip("/")).splitlines():
        host, include = _HOST.match(line), _INCLUDE.match(line)
        if host:
            yield host[1]
        elif include and depth:
            yield from _read_hosts(root, os.path.join(os.path.dirname(path), include[1]), depth - 1)
