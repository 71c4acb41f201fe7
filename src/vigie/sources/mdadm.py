"""Software RAID, from /proc/mdstat and /sys/block/md*/md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample, gauge
from vigie.sources._attributes import read_count
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    STATE := gauge("node_md_state", "1 for the current state of the array, 0 for others.", "device", "state"),
    DISKS := gauge(
        "node_md_disks", "Disks of the array by state: active, failed or spare.", "device", "state"
    ),
    REQUIRED := gauge("node_md_disks_required", "Disks of the complete array.", "device"),
    BLOCKS := gauge("node_md_blocks", "Size of the array in blocks of 1024 bytes.", "device"),
    SYNCED := gauge("node_md_blocks_synced", "Blocks in sync.", "device"),
    RAID_DISKS := gauge("node_md_raid_disks", "Configured disks according to sysfs.", "device"),
    DEGRADED := gauge("node_md_degraded", "Missing disks.", "device"),
)

STATES = ("active", "inactive", "recovering", "resync", "check", "reshape")
# Name in the progress line, and the state it means.
PROGRESS = (("recovery", "recovering"), ("resync", "resync"), ("check", "check"), ("reshape", "reshape"))

SIZE = re.compile(r"\s+(\d{1,19}) blocks")
DISKS_IN_USE = re.compile(r"\[(\d{1,9})/(\d{1,9})\] \[[U_]+\]")
BLOCKS_DONE = re.compile(r"\((\d{1,19})/\d+\)")


class Array(NamedTuple):
    state: str
    active: int
    required: int
    blocks: int
    synced: int | None


def read(host: Host) -> Iterator[Sample]:
    """Yield state, disks and progress of every array."""
    lines = host.proc.read("mdstat").splitlines()
    headings = [place for place, line in enumerate(lines) if " : " in line and line[0] not in " P"]
    if not headings:
        raise Unavailable("no software RAID")
    for start, end in zip(headings, [*headings[1:], len(lines)]):
        name, heading = lines[start].split(" : ", 1)
        array = _parse_array(heading, lines[start + 1 : end])
        if array is None:
            host.note(f"/proc/mdstat {name}", "cannot parse the lines of this array")
        else:
            device = to_printable(name)
            yield from _build_samples(device, heading, array)
            yield RAID_DISKS, (device,), read_count(host, f"block/{name}/md/raid_disks")
            yield DEGRADED, (device,), read_count(host, f"block/{name}/md/degraded")


def _build_samples(name: str, heading: str, array: Array) -> Iterator[Sample]:
    for state in STATES:
        yield STATE, (name, state), int(state == array.state)
    yield DISKS, (name, "active"), array.active
    yield DISKS, (name, "failed"), heading.count("(F)")
    yield DISKS, (name, "spare"), heading.count("(S)")
    yield REQUIRED, (name,), array.required
    yield BLOCKS, (name,), array.blocks
    yield SYNCED, (name,), array.synced


def _parse_array(heading: str, body: list[str]) -> Array | None:
    state = heading.split(" ", 1)[0]
    size = SIZE.match(body[0]) if body else None
    disks = _parse_disks(state, heading, body[0]) if body else None
    if state not in ("active", "inactive") or size is None or disks is None:
        return None
    active, required = disks
    blocks = int(size.group(1))
    for line in body[1:]:
        for word, meaning in PROGRESS:
            if word in line:
                return Array(meaning, active, required, blocks, _parse_progress(line))
    return Array(state, active, required, blocks, blocks)


def _parse_progress(line: str) -> int | None:
    if "DELAYED" in line or "PENDING" in line:  # pending
        return 0
    match = BLOCKS_DONE.search(line)
    return int(match.group(1)) if match else None


def _parse_disks(state: str, heading: str, status: str) -> tuple[int, int] | None:
    """Return the active and the total number of disks."""
    if " raid0 " in heading or " linear " in heading:
        members = heading.count("[")  # these levels have no redundancy
        return members, members
    if state == "inactive":
        return 0, 0
    match = DISKS_IN_USE.search(status)
    return (int(match.group(2)), int(match.group(1))) if match else None


SOURCE = Source("mdadm", METRICS, read)
