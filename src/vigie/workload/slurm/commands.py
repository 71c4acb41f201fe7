"""Asks Slurm by its own commands: one after the other, each counted, timed and within a deadline."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Callable, NamedTuple, TypeVar

from vigie.sources.core.command import CommandError
from vigie.sources.core.host import SystemCalls
from vigie.sources.core.source import Unavailable

T = TypeVar("T")

SECONDS = 15.0  # Slurm's own commands give up after 10
PING = ("scontrol", "ping")
CONFIG = ("scontrol", "show", "config")
JOBS = ("scontrol", "-a", "-d", "-o", "show", "job")
NODES = ("scontrol", "-a", "-d", "-o", "show", "node")
PARTITIONS = ("scontrol", "-a", "-o", "show", "partition")
DIAGNOSTICS = ("sdiag",)
SHARES = ("sshare", "-a", "-n", "-P", "-o", "account,user,fairshare")
LABELS = {
    PING: "ping",
    CONFIG: "config",
    JOBS: "jobs",
    NODES: "nodes",
    PARTITIONS: "partitions",
    DIAGNOSTICS: "sdiag",
    SHARES: "sshare",
}
# Where Slurm is installed when not where Debian does.
DIRECTORIES = (
    "/usr/bin",
    "/usr/local/bin",
    "/opt/slurm/bin",
    "/usr/local/slurm/bin",
    "/opt/slurm/current/bin",
)


class Reply(NamedTuple):
    """How a command went the last time."""

    seconds: float
    error: str = ""


class Commands:
    """Runs the commands; what they cost is kept for whoever looks."""

    def __init__(self, calls: SystemCalls, directory: str = "", conf: str = "") -> None:
        self._calls = calls
        self._directory = directory or _find_directory()
        # Times in UTC, lists of array tasks in full, and none of a user's own settings.
        self._environment = {
            "PATH": os.pathsep.join(DIRECTORIES),
            "TZ": "UTC",
            "LC_ALL": "C",
            "SLURM_BITSTR_LEN": "0",
        }
        if conf:
            self._environment["SLURM_CONF"] = conf
        self.calls: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self.replies: dict[str, Reply] = {}
        self.slowest = 0.0  # reply, in seconds, since it was last set to 0

    def ask(self, command: tuple[str, ...], parse: Callable[[Iterable[str]], T]) -> T:
        """Return what a command says, or raise CommandError."""
        label = LABELS[command]
        self.calls[label] = self.calls.get(label, 0) + 1
        began = monotonic()
        error = ""
        try:
            return parse(self._lines(command))
        except (CommandError, OSError) as failure:
            error = str(failure)
            self.failures[label] = self.failures.get(label, 0) + 1
            raise CommandError(error) from failure
        finally:
            seconds = monotonic() - began
            self.replies[label] = Reply(seconds, error)
            self.slowest = max(self.slowest, seconds)

    def _lines(self, command: tuple[str, ...]) -> Iterator[str]:
        argv = (os.path.join(self._directory, command[0]), *command[1:])
        return self._calls.run(argv, self._environment, SECONDS)


def _find_directory() -> str:
    for directory in (*os.environ.get("PATH", "").split(os.pathsep), *DIRECTORIES):
        if directory and os.access(os.path.join(directory, "scontrol"), os.X_OK):
            return directory
    raise Unavailable("scontrol is not installed. If it is elsewhere, set source.slurm.commands")
