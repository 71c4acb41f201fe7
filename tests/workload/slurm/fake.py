"""Slurm's commands, replaced by scripts that count their calls and print what they are told to."""

from __future__ import annotations

import os
from pathlib import Path

from vigie.sources.core.host import Host, HostRoots, SystemCalls

RECORDINGS = Path(__file__).parent / "recordings"
VERSIONS = ("20.11", "22.05", "24.11", "26.05")
HERE = "head"
SCRIPT = """#!/bin/sh
cd {directory}
what=$(basename "$0")
case "$what $*" in
  *"show job") key=jobs;; *"show node") key=nodes;; *"show partition") key=partitions;;
  *"show config") key=config;; *ping) key=ping;; sdiag*) key=sdiag;; sshare*) key=sshare;;
  *) key="unknown $what $*";;
esac
echo "$key" >> calls
[ -e "fail-$key" ] && {{ cat "fail-$key" >&2; exit 1; }}
[ -e "slow-$key" ] && sleep "$(cat "slow-$key")"
exec cat "reply-$key"
"""


class SettableClock(SystemCalls):
    """Real calls, but for the time and the name of the machine."""

    def __init__(self, here: str = HERE) -> None:
        self.now = 1_795_000_000.0
        self._here = here

    def time(self) -> float:
        return self.now

    def uname(self) -> tuple[str, str, str, str, str]:
        return "Linux", self._here, "", "", ""


class FakeSlurm:
    """A controller that replies as one of the recorded versions did."""

    def __init__(self, directory: Path, version: str = "24.11") -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("scontrol", "sdiag", "sshare"):
            script = directory / name
            script.write_text(SCRIPT.format(directory=directory))
            script.chmod(0o755)
        for name in ("jobs", "nodes", "partitions", "config", "sdiag", "sshare"):
            self.reply(name, (RECORDINGS / version / f"{name}.txt").read_text())
        self.reply("ping", "Slurmctld(primary) at head is UP\n")
        (directory / "etc/slurm").mkdir(parents=True)
        (directory / "etc/slurm/slurm.conf").write_text(f"ClusterName=x\nSlurmctldHost={HERE}(10.0.0.1)\n")

    def reply(self, name: str, text: str) -> None:
        (self.directory / f"reply-{name}").write_text(text)

    def fail(self, name: str, error: str) -> None:
        (self.directory / f"fail-{name}").write_text(error)

    def recover(self) -> None:
        for path in self.directory.glob("fail-*"):
            path.unlink()

    def calls(self) -> list[str]:
        try:
            return (self.directory / "calls").read_text().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def host(self, calls: SystemCalls | None = None, **options: str) -> Host:
        """Return a machine on which these are Slurm's commands."""
        os.environ.pop("SLURM_CONF", None)
        roots = HostRoots(root=str(self.directory))
        options = {"commands": str(self.directory), **options}
        return Host(roots, calls=calls or SettableClock(), options=options)
