"""Files in which a prolog names the job of each GPU: jobstats' /run/gpustat, dcgm-exporter's job mapping.

A file has the name of a GPU: its index, its UUID, or index and MIG instance with a dot between. Each line
is a job; jobstats adds the user's number. Both let go of a GPU by removing the file, or what is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.sources.core.host import Host
from vigie.workload.process import user_name

MAX_FILES, MAX_LINES, MAX_BYTES = 1024, 64, 8192
NAME = re.compile(r"^(?:(?P<index>\d{1,4})(?:\.(?P<instance>\d{1,4}))?|(?P<uuid>(?:GPU|MIG)-[\w./-]{1,80}))$")
JOB = re.compile(r"^[\w.\[\]@+-]{1,64}$")


class JobFileEntry(NamedTuple):
    """A job that a file names for a GPU."""

    device: str  # index or UUID
    instance: str
    job: str
    user: str
    from_ms: int


def read_job_files(host: Host, directory: str) -> Iterator[JobFileEntry]:
    """Yield what the files of a directory say; a file that is no GPU's, or says nothing sound, is skipped."""
    for name in host.root.list_names(directory)[:MAX_FILES]:
        place = NAME.match(name)
        if not place:
            continue
        path = f"{directory}/{name}"
        try:
            text, changed = host.root.read_head(path, MAX_BYTES), host.root.modified_time(path)
        except OSError as error:
            host.root.note_error(path, error)
            continue
        device = place["index"] or place["uuid"]
        jobs: dict[str, str] = {}  # a job that stands there twice is one
        for line in text.splitlines()[:MAX_LINES]:
            words = line.split()
            if words and JOB.match(words[0]):
                jobs.setdefault(words[0], _user(host, words[1:]))
        for job, user in jobs.items():
            yield JobFileEntry(device, place["instance"] or "", job, user, round(changed * 1000))


def _user(host: Host, words: list[str]) -> str:
    if words and words[0].isdecimal() and len(words[0]) <= 10:
        return user_name(host, int(words[0]))
    return ""
