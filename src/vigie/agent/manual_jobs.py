"""Jobs named by hand, by a scheduler's prolog and epilog: kept across restarts of the agent."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vigie.common.clock import Clock
from vigie.model import Binding

log = logging.getLogger(__name__)

SOURCE = "manual"
MAX_JOBS = 256  # per node
MAX_USER_JOBS = 16  # that a user other than the agent's owner may name
MAX_BYTES = 1 << 18
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class ManualJob(NamedTuple):
    """A job, its user, and its GPUs; without GPUs it has the whole node."""

    id: str
    user: str
    gpus: tuple[str, ...]
    from_ms: int

    def bindings(self) -> list[Binding]:
        """Return one binding per GPU, or one of the node."""
        resources = [f"gpu:{gpu}" for gpu in self.gpus] or ["node"]
        return [
            Binding(one, "job", self.id, self.from_ms, user=self.user, source=SOURCE) for one in resources
        ]


class TooManyJobsError(Exception):
    """No further job can be named; the message says why."""


class ManualJobs:
    """The jobs that were set and not cleared yet. Jobs of an earlier boot of the machine are dropped."""

    def __init__(self, path: Path | None, clock: Clock, boot_id: Path = BOOT_ID) -> None:
        self._path, self._clock = path, clock
        self._boot = _read_boot_id(boot_id)
        self._lock = threading.Lock()
        self._jobs = self._load()

    def set(self, job: str, user: str, gpus: Sequence[str], *, limited: bool) -> str:
        """Name a job, or change it; return why it could not be saved, or nothing."""
        with self._lock:
            known = self._jobs.get(job)
            others = sum(one.user == user for one in self._jobs.values())
            if known is None and limited and others >= MAX_USER_JOBS:
                raise TooManyJobsError(f"{user} has {others} jobs set: clear one first")
            if known is None and len(self._jobs) >= MAX_JOBS:
                raise TooManyJobsError(f"{len(self._jobs)} jobs are set: clear one first")
            begin = known.from_ms if known else round(self._clock.wall() * 1000)
            self._jobs[job] = ManualJob(job, user, tuple(dict.fromkeys(gpus)), begin)
            return self._save()

    def find(self, job: str) -> ManualJob | None:
        """Return a job that is set."""
        return self._jobs.get(job)

    def clear(self, job: str) -> str:
        """End a job; return why that could not be saved, or nothing."""
        with self._lock:
            self._jobs.pop(job, None)
            return self._save()

    def bindings(self) -> list[Binding]:
        """Return who holds what by hand."""
        with self._lock:
            return [binding for job in self._jobs.values() for binding in job.bindings()]

    def _load(self) -> dict[str, ManualJob]:
        if self._path is None:
            return {}
        try:
            with self._path.open(encoding="utf-8") as file:
                found = json.loads(file.read(MAX_BYTES))
            jobs = [_parse_job(row) for row in found["jobs"][:MAX_JOBS]]
            return {job.id: job for job in jobs} if found["boot"] == self._boot else {}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            log.warning("cannot read %s (%s): jobs set by hand are lost", self._path, error)
            return {}

    def _save(self) -> str:
        if self._path is None:
            return ""
        text = json.dumps({"boot": self._boot, "jobs": [job._asdict() for job in self._jobs.values()]})
        part = self._path.with_name(f".{self._path.name}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.touch(mode=0o600)
            part.write_text(text, encoding="utf-8")
            part.replace(self._path)
        except OSError as error:
            return f"{self._path}: {error.strerror or error}"
        return ""


def _parse_job(row: Any) -> ManualJob:
    job = ManualJob(str(row["id"]), str(row["user"]), tuple(map(str, row["gpus"])), int(row["from_ms"]))
    if not job.id:
        raise ValueError("a job without an id")
    return job


def _read_boot_id(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
