"""Custom metrics from a JSON file of numbers, in Moneo's format.

`gpu_<index>_<name>` and `ib_<index>_<name>` are per device, any other key is per node. Keys may appear later.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from typing import Any

from vigie.model import Metric, Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    PLAIN := gauge("custom_*", "Value of the file's key *.", "job_id"),
    GPU := gauge("custom_gpu_*", "Value of the file's keys gpu_INDEX_*.", "gpu_id", "job_id"),
    IB := gauge("custom_ib_*", "Value of the file's keys ib_INDEX_*.", "ib_port", "job_id"),
)
FILE = SourceOption("file", "", "JSON file of custom metrics in Moneo's format; none when empty.")
JOB_FILE = "tmp/moneo-worker/curr_jobID"
NO_JOB = "None"  # Moneo's label value without a job
DEVICE_KEY = re.compile(r"(gpu|ib)_([0-9]{1,4})_(.+)")
NAME = re.compile(r"[A-Za-z0-9_:]{1,128}")
MAX_BYTES = 1 << 20
MAX_KEYS = 1000
MAX_STALE_READS = 3  # for which the last values stand in for a file that is being rewritten


def read(host: Host) -> Iterator[Sample]:
    """Yield a sample per key. While the file is unusable, repeat the last values for a few reads."""
    path = host.options.get(FILE.name) or FILE.default
    if not path:
        raise Unavailable("no file configured: set `file` in [source.custom]")
    try:
        content = _load(path)
    except ValueError as error:
        host.note(path, error)
        content = host.cache.get("content", {})
        host.cache["stale"] = host.cache.get("stale", 0) + 1
        if host.cache["stale"] > MAX_STALE_READS or not content:
            raise Unavailable(f"{path}: {error}") from None
    else:
        host.cache["content"], host.cache["stale"] = content, 0
    yield from _samples(host, content)


def _load(path: str) -> dict[str, Any]:
    """Return the JSON object, or raise ValueError, or OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("not a regular file")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("not valid JSON; write to a temporary file and rename it") from None
    if not isinstance(content, dict):
        raise ValueError("not a JSON object of names and numbers")
    if len(content) > MAX_KEYS:
        raise ValueError(f"more than {MAX_KEYS} keys")
    return content


def _samples(host: Host, content: dict[str, Any]) -> Iterator[Sample]:
    job = _job_id(host)
    devices = host.sys.list_names("class/infiniband") if any(key.startswith("ib_") for key in content) else []
    for key, value in content.items():
        if not isinstance(value, (int, float)):
            host.note(key, "not a number")
        elif not NAME.fullmatch(key):
            host.note(key, "not a metric name: use letters, digits and underscores")
        else:
            found = _series(key, job, devices)
            if found is None:
                host.note(key, "no such InfiniBand device")
            else:
                yield (*found, _to_float(value))


def _series(key: str, job: str, devices: list[str]) -> tuple[Metric, tuple[str, ...]] | None:
    match = DEVICE_KEY.fullmatch(key)
    if match is None:
        return PLAIN.expand(key), (job,)
    kind, index, name = match.groups()
    if kind == "gpu":
        return GPU.expand(name), (str(int(index)), job)
    return (IB.expand(name), (f"{devices[int(index)]}:1", job)) if int(index) < len(devices) else None


def _job_id(host: Host) -> str:
    """Return the job that Moneo's own tools have set for this node."""
    try:
        first = host.root.read_once(JOB_FILE).partition("\n")[0].strip()
    except OSError:
        return NO_JOB
    return to_printable(first[:64]) or NO_JOB


def _to_float(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


SOURCE = Source("custom", METRICS, read, options=(FILE,))
