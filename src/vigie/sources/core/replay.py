"""A recorded machine: its files in one text archive, and the results of its system calls.

`-- PATH --` starts a file, followed by its lines. `-- PATH -> TARGET --` is a symbolic link,
`-- PATH/ --` an empty directory, `-- PATH ! EACCES --` a file that fails with this error. PATH starts
with proc/, sys/ or root/. calls.json has the results of system calls.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from vigie.sources.core.dbus import BusCall
from vigie.sources.core.ethtool import Ethtool, EthtoolLink
from vigie.sources.core.host import Host, HostRoots, Statvfs, SystemCalls
from vigie.sources.core.netlink import Qdisc
from vigie.sources.core.timex import Timex
from vigie.sources.core.tree import FileBudget, Note, ReadFile, Tree

HEADER = re.compile(r"^-- (\S(?:.*\S)?) --$")


def unpack(archive: str, directory: str) -> None:
    """Write the archive's files below the directory. Paths and links cannot leave it."""
    for root in HostRoots._fields:
        os.makedirs(os.path.join(directory, root), exist_ok=True)
    links: list[tuple[str, str]] = []
    for path, lines in _parse_entries(archive):
        name, arrow, target = path.partition(" -> ")
        name, mark, error = name.partition(" ! ")
        full = _resolve_inside(directory, name)
        os.makedirs(full if name.endswith("/") else os.path.dirname(full), exist_ok=True)
        if arrow:
            links.append((name, target))
        elif mark:
            with open(os.path.join(directory, "errors"), "a", encoding="utf-8") as file:
                file.write(f"{name} {error}\n")
            with open(full, "a", encoding="utf-8"):
                pass  # it is listed, but cannot be read
        elif not name.endswith("/"):
            with open(full, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write("".join(line + "\n" for line in lines))
    for name, target in links:  # last, so that no file is written through a link
        _create_link(directory, name, target)


def replay(directory: str, options: dict[str, str] | None = None) -> Host:
    roots = HostRoots(*(os.path.join(directory, name) for name in HostRoots._fields))
    host = Host(roots, calls=ReplayedCalls(directory), options=options)
    errors = _read_errors(directory)
    for name in HostRoots._fields:
        tree = ReplayedTree(os.path.join(directory, name), errors.get(name, {}), host.note)
        setattr(host, name, tree)
    return host


class ReplayedTree(Tree):
    """A recorded tree, with the errors of some files."""

    def __init__(self, top: str, errors: dict[str, int], note: Note) -> None:
        super().__init__(top, FileBudget(0), note)
        self._errors = errors

    def _open_and_read(self, path: str, read_file: ReadFile, *, keep: bool = True) -> bytes:
        number = self._errors.get(os.path.normpath(path))
        if number is not None:
            raise OSError(number, os.strerror(number), self._prefix + path)
        return super()._open_and_read(path, read_file, keep=keep)


class ReplayedCalls(SystemCalls):
    """Replays recorded system calls. Others fail."""

    def __init__(self, directory: str) -> None:
        try:
            with open(os.path.join(directory, "calls.json"), encoding="utf-8") as file:
                self._answers: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            self._answers = {}
        self._root = os.path.join(directory, "root")
        self.page_size = self._answers.get("page_size", 4096)
        self.ticks = self._answers.get("ticks", 100)

    def time(self) -> float:
        return float(self._answer("time"))

    def time_zone(self) -> tuple[str, int]:
        name, offset = self._answer("zone")
        return name, offset

    def uname(self) -> tuple[str, str, str, str, str]:
        sysname, nodename, release, version, machine = self._answer("uname")
        return sysname, nodename, release, version, machine

    def user_name(self, uid: int) -> str:  # noqa: ARG002 - as the call that it stands for
        """Return nothing: the users of another machine are not those of this one."""
        return ""

    def adjtimex(self) -> Timex:
        return Timex(**self._answer("adjtimex"))

    def amdsmi(self) -> Any:
        """Fail: packages are not recorded."""
        raise ImportError("not part of a recorded machine")

    def run(self, argv: Sequence[str], *_: object) -> Iterator[str]:
        """Refuse: programs are not recorded."""
        raise FileNotFoundError(errno.ENOENT, "not recorded", argv[0])

    def statvfs(self, path: str) -> Statvfs:
        """Return the recorded sizes. Other paths fail instead of hanging."""
        answers = self._answer("statvfs")
        path = path[len(self._root) :] or "/" if path.startswith(self._root) else path
        if path not in answers:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return Statvfs(*answers[path])

    def ethtool(self, device: str) -> Ethtool:
        """Return what the recorded driver told; an interface that was not recorded has no such thing."""
        answers = self._answer("ethtool")
        if device not in answers:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), device)
        answer = Ethtool(*answers[device])
        return answer._replace(link=EthtoolLink(*answer.link) if answer.link else None)

    def qdiscs(self) -> list[Qdisc]:
        """Return the recorded disciplines."""
        return [Qdisc(*each) for each in self._answer("qdiscs")]

    def bus(self, address: str, calls: Sequence[BusCall]) -> list[Any]:  # noqa: ARG002 - one bus is recorded
        """Return the recorded answers; a call that was not recorded is refused."""
        answers = self._answer("bus")
        return [answers.get(each.text) for each in calls]

    def _answer(self, call: str) -> Any:
        if call not in self._answers:
            raise FileNotFoundError(errno.ENOENT, "not recorded", call)
        return self._answers[call]


def _parse_entries(archive: str) -> list[tuple[str, list[str]]]:
    entries: list[tuple[str, list[str]]] = []
    for line in archive.splitlines():
        header = HEADER.match(line)
        if header:
            entries.append((header.group(1), []))
        elif entries:
            entries[-1][1].append(line)
    return entries


def _read_errors(directory: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    try:
        with open(os.path.join(directory, "errors"), encoding="utf-8") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return found
    for line in filter(None, lines):
        path, _, name = line.rpartition(" ")
        root, _, rest = path.partition("/")
        found.setdefault(root, {})[os.path.normpath(rest)] = getattr(errno, name)
    return found


def _resolve_inside(directory: str, name: str) -> str:
    top = os.path.realpath(directory)
    full = os.path.normpath(os.path.join(top, name))
    real = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
    if not real.startswith(os.path.join(top, "")):
        raise ValueError(f"{name} is outside {directory}")
    return full


def _create_link(directory: str, name: str, target: str) -> None:
    full = _resolve_inside(directory, name)
    if target.startswith("/"):  # relative to the recorded root
        target = os.path.relpath(
            os.path.join(directory, name.partition("/")[0], target[1:]), os.path.dirname(full)
        )
    _resolve_inside(directory, os.path.join(os.path.dirname(name), target))
    if not os.path.lexists(full):
        os.symlink(target, full)
