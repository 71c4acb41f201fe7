"""Nodes, from the lines of `scontrol -d -o show node`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vigie.workload.slurm.gres import count_gpus
from vigie.workload.slurm.records import (
    InvalidRecordError,
    parse_number,
    parse_time_ms,
    present,
    split_fields,
)

_SYSTEM = re.compile(r" OS=.*? RealMemory=")  # the kernel's own words, with blanks
_REASON = re.compile(r" Reason=(.*?)(?: \[([^\]@\s]+)@([^\]\s]+)\])?(?: Comment=.*| Extra=.*)?\s*$")
_FREE_TEXT = re.compile(r" (?:Reason|Comment|Extra)=")
# What sinfo appends to a state, in the order in which it looks for it.
_MARKS = (
    ("MAINTENANCE", "$"),
    ("MAINT", "$"),
    ("REBOOT_ISSUED", "^"),
    ("REBOOT_REQUESTED", "@"),
    ("REBOOT", "@"),
    ("POWERING_UP", "#"),
    ("POWERING_DOWN", "%"),
    ("POWERED_DOWN", "~"),
    ("POWER_DOWN", "!"),
    ("NOT_RESPONDING", "*"),
)
_BUSY = frozenset(("ALLOCATED", "MIXED"))
_NAMES = {"ERROR": "error", "UNKNOWN": "unknown"}


class Node(NamedTuple):
    """A node as Slurm sees it."""

    name: str
    host: str
    address: str
    state: str  # as sinfo's %T has it
    partitions: tuple[str, ...]
    cpus: int
    cpus_alloc: int
    memory_mb: int
    memory_alloc_mb: int
    gpus: int
    gpus_alloc: int
    reason: str = ""
    reason_by: str = ""
    reason_ms: int | None = None

    @property
    def is_out_of_use(self) -> bool:
        """Tell whether CPUs that no job has cannot be given to any."""
        return self.state.startswith(("down", "drain"))

    @property
    def cpus_other(self) -> int:
        return max(self.cpus - self.cpus_alloc, 0) if self.is_out_of_use else 0

    @property
    def cpus_idle(self) -> int:
        return max(self.cpus - self.cpus_alloc - self.cpus_other, 0)


def parse_nodes(lines: Iterable[str]) -> Iterator[Node | InvalidRecordError]:
    """Yield each node; a line that is none gives the reason, and the rest goes on."""
    for line in lines:
        if not line.strip() or line.startswith("No nodes in the system"):
            continue
        try:
            yield parse_node(line)
        except InvalidRecordError as error:
            yield error


def parse_node(line: str) -> Node:
    """Return the node of a line, or raise InvalidRecordError."""
    if not line.startswith("NodeName="):
        raise InvalidRecordError(f"not a node: {line[:60]!r}")
    system = _SYSTEM.search(line)
    before, after = (line[: system.start()], line[system.end() :]) if system else (line, "")
    tail = f" RealMemory={after}" if system else before
    free = _FREE_TEXT.search(tail)
    fields = dict(split_fields(before))
    fields.update(split_fields(tail[: free.start()] if free else tail))
    reason = _REASON.search(tail, free.start()) if free else None
    if "State" not in fields:
        raise InvalidRecordError(f"no state: {line[:60]!r}")
    why, by, when = reason.groups() if reason else ("", "", "")
    return Node(
        name=fields["NodeName"],
        host=fields.get("NodeHostName", ""),
        address=fields.get("NodeAddr", ""),
        state=sinfo_state(fields["State"]),
        partitions=tuple(filter(None, present(fields.get("Partitions", "")).split(","))),
        cpus=parse_number(fields.get("CPUTot", "")) or 0,
        cpus_alloc=parse_number(fields.get("CPUAlloc", "")) or 0,
        memory_mb=parse_number(fields.get("RealMemory", "")) or 0,
        memory_alloc_mb=parse_number(fields.get("AllocMem", "")) or 0,
        gpus=count_gpus(fields.get("Gres", "")),
        gpus_alloc=count_gpus(fields.get("GresUsed", "")),
        reason=why.strip(),
        reason_by=by or "",
        reason_ms=parse_time_ms(when or ""),
    )


def sinfo_state(state: str) -> str:
    """Return the one word that sinfo makes of a state and its flags.

    >>> sinfo_state("MIXED+DRAIN"), sinfo_state("IDLE+DRAIN"), sinfo_state("DOWN+NOT_RESPONDING")
    ('draining', 'drained', 'down*')
    >>> sinfo_state("MIXED+COMPLETING+PLANNED"), sinfo_state("MIXED+PLANNED"), sinfo_state("DOWN*")
    ('completing', 'mixed-', 'down*')
    >>> sinfo_state("IDLE+MAINTENANCE+RESERVED"), sinfo_state("ALLOCATED+COMPLETING"), sinfo_state("NEW")
    ('maint', 'allocated+', 'new')
    """
    if not state.replace("+", "").replace("_", "").isalpha():
        return state.lower()  # 20.11 has put the mark at its end already
    base, *rest = state.split("+")
    flags = set(rest)
    mark = next((mark for flag, mark in _MARKS if flag in flags), "")
    busy = base in _BUSY or "COMPLETING" in flags
    if "DRAIN" in flags:
        return ("draining" if busy else "drained") + mark
    if "FAIL" in flags:
        return ("failing" if busy else "fail") + mark.replace("$", "")
    if flags & {"MAINTENANCE", "MAINT"} and base not in ("ALLOCATED", "MIXED", "DOWN"):
        return "maint" + ("*" if "NOT_RESPONDING" in flags else "")
    return _plain_state(base, flags, mark)


def _plain_state(base: str, flags: set[str], mark: str) -> str:
    completing, planned = "COMPLETING" in flags, "PLANNED" in flags
    if base == "ALLOCATED" and not mark:
        return "allocated+" if completing else "allocated"
    if completing and base not in ("DOWN", "ALLOCATED"):
        return "completing" + mark
    if base == "IDLE" and not mark:
        return "planned" if planned else "reserved" if "RESERVED" in flags else "idle"
    if base == "MIXED" and not mark and planned:
        return "mixed-"
    return _NAMES.get(base, base.lower()) + mark
