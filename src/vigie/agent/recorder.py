"""Records a machine: everything the sources read, scrubbed, in one text archive."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from vigie.agent.collector import Collector
from vigie.agent.scrubber import scrub, scrub_private
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.sources.core.dbus import BusCall
from vigie.sources.core.ethtool import Ethtool
from vigie.sources.core.host import HostRoots, Statvfs, SystemCalls
from vigie.sources.core.netlink import Qdisc
from vigie.sources.core.timex import Timex
from vigie.sources.core.tree import Note, ReadFile, Tree

T = TypeVar("T")


def record(readers: Sequence[SourceReader], directory: Path) -> Iterator[str]:
    """Write DIRECTORY/machine.txt, and yield progress messages."""
    directory.mkdir(parents=True, exist_ok=True)
    recording = Recording()
    for reader in readers:
        host = reader.host
        for name in HostRoots._fields:
            top = getattr(host, name).top
            setattr(host, name, RecordingTree(top, name, recording, host.note))
        host.calls = RecordingCalls(recording)
    collector = Collector(list(readers))
    collector.refresh_now()
    collector.close()
    text, replaced = scrub(recording.format_archive(), os.uname().nodename)
    path = directory / "machine.txt"
    partial = directory / ".machine.txt.part"
    partial.write_text(text, encoding="utf-8", errors="surrogateescape")
    os.replace(partial, path)
    ok = sum(reader.outcome is Outcome.OK for reader in readers)
    yield f"recorded {ok} of {len(readers)} sources into {path} ({len(text) // 1024} kB)"
    yield f"replaced: {', '.join(replaced) or 'nothing'}. Review the file before you send it"
    yield f"replay it: vigie agent --once --replay {directory}"


class Recording:
    """What was read: files by real path, symbolic links, errors and results of calls."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.paths: dict[str, bool] = {}
        self.calls: dict[str, Any] = {"page_size": SystemCalls.page_size, "ticks": SystemCalls.ticks}

    def format_archive(self) -> str:
        """Return the archive. The format is documented in vigie.sources.core.replay."""
        calls = json.dumps(self.calls, indent=1)
        parts = [f"-- calls.json --\n{calls}\n"]
        parts += [f"-- {path} -> {target} --\n" for path, target in sorted(self.links.items())]
        parts += [f"-- {path} ! {name} --\n" for path, name in sorted(self.errors.items())]
        for path, directory in sorted(self.paths.items()):
            if path not in self.files and path not in self.links and path not in self.errors:
                parts.append(f"-- {path}{'/' if directory else ''} --\n")
        for path, text in sorted(self.files.items()):
            parts.append(f"-- {path} --\n{text}" + ("" if text.endswith("\n") or not text else "\n"))
        return "".join(parts)


class RecordingTree(Tree):
    def __init__(self, top: str, name: str, recording: Recording, note: Note) -> None:
        super().__init__(top, None, note)
        self._name = name
        self._recording = recording

    def list_directory(self, path: str = "") -> list[str]:
        names = super().list_directory(path)
        real = self._resolve(path)
        self._recording.paths[self._key(real)] = True
        for name in names:
            full = os.path.join(real, name)
            if not os.path.islink(full):
                self._recording.paths[self._key(full)] = os.path.isdir(full)
            else:
                self._recording.links[self._key(full)] = os.readlink(full)
        return names

    def list_folders(self, path: str = "") -> list[str]:
        """List the directories, and record them."""
        names = super().list_folders(path)
        real = self._resolve(path)
        self._recording.paths[self._key(real)] = True
        self._recording.paths.update((self._key(os.path.join(real, name)), True) for name in names)
        return names

    def read_link(self, path: str) -> str:
        target = super().read_link(path)
        real = self._resolve(os.path.dirname(path))
        self._recording.links[self._key(os.path.join(real, os.path.basename(path)))] = target
        return target

    def exists(self, path: str) -> bool:
        found = super().exists(path)
        if found:
            real = self._resolve(path)
            self._recording.paths[self._key(real)] = os.path.isdir(real)
        return found

    def _open_and_read(self, path: str, read_file: ReadFile, *, keep: bool = True) -> bytes:
        try:
            data = super()._open_and_read(path, read_file, keep=keep)
        except OSError as error:
            if not isinstance(error, (FileNotFoundError, NotADirectoryError)) and error.errno:
                self._recording.errors[self._key(self._resolve(path))] = errno.errorcode[error.errno]
            raise
        key = self._key(self._resolve(path))
        self._recording.files[key] = scrub_private(key, data.decode("utf-8", "surrogateescape"))
        return data

    def _key(self, real: str) -> str:
        return f"{self._name}/{os.path.relpath(real, self.top)}"

    def _resolve(self, path: str) -> str:
        """Resolve a path, and record each link on the way."""
        here = self.top
        todo = path.split("/")
        while todo:
            step = todo.pop(0)
            here_step = os.path.normpath(os.path.join(here, step))
            if step and os.path.islink(here_step):
                target = os.readlink(here_step)
                self._recording.links[self._key(here_step)] = target
                todo = target.strip("/").split("/") + todo
                here = self.top if target.startswith("/") else here
            else:
                here = here_step
        return here


class RecordingCalls(SystemCalls):
    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def time(self) -> float:
        return self._record("time", super().time())

    def time_zone(self) -> tuple[str, int]:
        return self._record("zone", super().time_zone())

    def uname(self) -> tuple[str, str, str, str, str]:
        return self._record("uname", super().uname())

    def adjtimex(self) -> Timex:
        result = super().adjtimex()
        self._recording.calls["adjtimex"] = result._asdict()
        return result

    def statvfs(self, path: str) -> Statvfs:
        result = super().statvfs(path)
        self._recording.calls.setdefault("statvfs", {})[path] = result
        return result

    def ethtool(self, device: str) -> Ethtool:
        """Tell an interface's driver."""
        result = super().ethtool(device)
        self._recording.calls.setdefault("ethtool", {})[device] = result
        return result

    def qdiscs(self) -> list[Qdisc]:
        """Tell the queueing disciplines."""
        return self._record("qdiscs", super().qdiscs())

    def bus(self, address: str, calls: Sequence[BusCall]) -> list[Any]:
        """Ask on a bus."""
        results = super().bus(address, calls)
        recorded = self._recording.calls.setdefault("bus", {})
        recorded.update({each.text: result for each, result in zip(calls, results, strict=True)})
        return results

    def _record(self, call: str, result: T) -> T:
        self._recording.calls[call] = result
        return result
