"""genv's state files: which environments there are, and which GPUs are attached to them.

Read as genv writes them today (lists) and as it wrote them up to 0.9 (dictionaries).
"""

from __future__ import annotations

import calendar
import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from vigie.sources.core.host import Host
from vigie.sources.core.tree import to_printable

LOCK_SECONDS = 1.0
LOCK_PAUSE = 0.02
MOST_BYTES = 4 << 20  # of one file
MOST_ENVIRONMENTS = 1000
TIME = "%d/%m/%Y %H:%M:%S"
RUNTIME = ".local/share/jupyter/runtime"


class GenvEnvironment(NamedTuple):
    """An environment, and by what it is known to be alive."""

    eid: str
    user: str
    uid: int
    name: str
    created: str
    pids: tuple[int, ...]
    kernels: tuple[str, ...]


class GenvAttachment(NamedTuple):
    """A GPU that is attached to an environment."""

    gpu: int
    eid: str
    time: str


class GenvState(NamedTuple):
    """What both files say."""

    environments: tuple[GenvEnvironment, ...] = ()
    attachments: tuple[GenvAttachment, ...] = ()


class UnusableStateError(Exception):
    """A state file is there and cannot be used; the message says which and why."""


def load_state(host: Host, directory: str) -> GenvState | None:
    """Return the environments that are alive and what is attached to them; nothing if there is no file."""
    lock = _lock(host, directory)
    try:
        envs = _read_json(host, f"{directory}/envs.json", "envs")
        devices = _read_json(host, f"{directory}/devices.json", "devices")
    finally:
        if lock is not None:
            os.close(lock)
    if envs is None:
        return None
    alive = tuple(_alive(host, _environments(envs)))
    eids = {one.eid for one in alive}
    attached = tuple(one for one in _attachments(devices) if one.eid in eids)
    return GenvState(alive, attached)


def _lock(host: Host, directory: str) -> int | None:
    """Take genv's lock to read, within a deadline; without it a file may be caught half written."""
    path = os.path.join(host.root.top, directory, "genv.lock")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None  # nobody has ever locked anything, or it is not ours to read
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # noqa: PERF203 - another process holds it
            if time.monotonic() >= until:
                os.close(descriptor)
                host.note(path, f"held for over {LOCK_SECONDS:g} s: the files are read without it")
                return None
            time.sleep(LOCK_PAUSE)
        else:
            return descriptor


def _read_json(host: Host, path: str, key: str) -> Any:
    """Return what stands under a key, or nothing if there is no such file."""
    try:
        text = host.root.read_once(path)
        if len(text) > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES} bytes")
        content = json.loads(text)
        if not isinstance(content, dict) or not isinstance(content.get(key), (list, dict)):
            raise ValueError(f"has no {key!r}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise UnusableStateError(f"/{path}: {getattr(error, 'strerror', None) or error}") from None
    return content[key]


def _rows(found: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of a list, or of a dictionary with the key of each."""
    pairs: Iterable[tuple[str, Any]] = (
        found.items() if isinstance(found, dict) else (("", row) for row in _list(found))
    )
    return ((key, row) for key, row in pairs if isinstance(row, dict))


def _environments(found: Any) -> Iterator[GenvEnvironment]:
    for number, (key, row) in enumerate(_rows(found)):
        eid, uid = _word(row.get("eid", key)), row.get("uid")
        if not eid or number >= MOST_ENVIRONMENTS:
            continue
        config = row.get("config")
        yield GenvEnvironment(
            eid,
            _word(row.get("username")) or (str(uid) if isinstance(uid, int) else ""),
            uid if isinstance(uid, int) else -1,
            _word(config.get("name") if isinstance(config, dict) else None),
            _word(row.get("creation")),
            tuple(pid for pid in _list(row.get("pids")) if isinstance(pid, int) and pid > 0),
            tuple(filter(None, map(_word, _list(row.get("kernel_ids"))))),
        )


def _attachments(found: Any) -> Iterator[GenvAttachment]:
    for key, row in _rows(found):
        index = row.get("index", key)
        if not str(index).isdecimal():
            continue
        for eid, attachment in _rows(row.get("attachments", row.get("eids"))):
            when = attachment.get("time", attachment.get("attached"))
            yield GenvAttachment(int(index), _word(attachment.get("eid", eid)), _word(when))


def _alive(host: Host, environments: Iterable[GenvEnvironment]) -> Iterator[GenvEnvironment]:
    """Yield those of which a process or a kernel is left: genv drops the others when it is next called."""
    homes: dict[int, str] = {}
    for one in environments:
        if any(host.proc.exists(str(pid)) for pid in one.pids):
            yield one
        elif one.kernels:
            homes = homes or _homes(host)
            if any(_has_kernel(host, homes.get(one.uid, ""), kernel) for kernel in one.kernels):
                yield one


def _has_kernel(host: Host, home: str, kernel: str) -> bool:
    """Tell whether Jupyter keeps the file of a kernel, as its user or as root, who may run genv."""
    if "/" in kernel:
        return False
    directories = [f"{place.strip('/')}/{RUNTIME}" for place in (home, "root") if place]
    return any(host.root.exists(f"{directory}/kernel-{kernel}.json") for directory in directories)


def _homes(host: Host) -> dict[int, str]:
    rows = [line.split(":") for line in (host.root.read_text("etc/passwd") or "").splitlines()]
    return {int(row[2]): row[5] for row in rows if len(row) == 7 and row[2].isdecimal()}


def local_ms(text: str, offset: int) -> int:
    """Return genv's local time in ms since 1970, or 0 when it is none.

    >>> local_ms("18/11/2026 09:26:06", 3600)
    1794990366000
    """
    try:
        return (calendar.timegm(time.strptime(text, TIME)) - offset) * 1000
    except ValueError:
        return 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str:
    """Return a label's value; what is no text or number is nothing."""
    return to_printable(str(value)) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
