"""The nodes of the cluster: identity, hardware, last contact and state."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from vigie.model import Event
from vigie.server.cluster.database import ClusterDatabase
from vigie.server.cluster.events import add_gpu_index
from vigie.server.staleness.gaps import late_after, lost_after
from vigie.wire.messages import DECODE_ERRORS, Hello

ADDED, UP, LATE, LOST, STOPPED, REMOVED = "added", "up", "late", "lost", "stopped", "removed"
SAVE_MS = 30_000  # how old `last_seen_ms` may be on disk
MAX_GPUS = 256  # of one node
CLOCK_MS = 10_000  # a clock further off than this is corrected
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}")
HARDWARE = {"cpus": "CPUs", "memory_bytes": "bytes of memory", "gpus": "GPUs"}  # expected to stay
EventParts = tuple[str, str, str]  # kind, text, severity


class NodeRecord(Struct):
    name: str
    state: str = UP
    first_seen_ms: int = 0
    last_seen_ms: int = 0
    gone_ms: int | None = None  # since when it is lost or stopped
    host: str = ""
    addresses: list[str] = []
    machine_id: str = ""
    boot_id: str = ""
    start: str = ""
    version: str = ""
    cadence: float = 10.0
    listen: str = ""  # where its agent can be scraped
    labels: dict[str, str] = {}
    inventory: dict[str, str] = {}
    gpus: dict[str, str] = {}  # indexes by PCI address, also of GPUs that are lost
    expected: dict[str, str] = {}
    boot_ms: int = 0  # when, by our clock, the node's uptime was 0
    clock_offset_ms: int = 0

    @property
    def missing(self) -> list[str]:
        """Return what hardware the node had and no longer has; what it does not report may be there."""
        has = self.inventory
        return [name for name, had in self.expected.items() if name in has and _less(has[name], had)]


class NodeStore:
    """The nodes of the cluster; any thread may call."""

    def __init__(
        self, database: ClusterDatabase, record_event: Callable[[Event], None], now_ms: Callable[[], int]
    ) -> None:
        self._database, self._record_event, self._now = database, record_event, now_ms
        self._since = now_ms()  # silence before that is ours
        self._guard = threading.RLock()
        rows = database.query("select facts from nodes")
        self._nodes = {node.name: node for row in rows for node in _decode(row["facts"])}
        self._saved = {name: node.last_seen_ms for name, node in self._nodes.items()}

    def close(self) -> None:
        """Save when each node was last seen."""
        with self._guard:
            self._save(*self._nodes.values())

    def nodes(self) -> list[NodeRecord]:
        with self._guard:
            return [structs.replace(self._nodes[name]) for name in sorted(self._nodes)]

    def find(self, name: str) -> NodeRecord | None:
        with self._guard:
            found = self._nodes.get(name)
            return structs.replace(found) if found else None

    def connect(self, hello: Hello, address: str, *, joined: bool) -> NodeRecord:
        """Store what a node says of itself, and record what changed."""
        now = self._now()
        with self._guard:
            before = self._nodes.get(hello.node)
            node = _update_from_hello(hello, address, before, now)
            self._nodes[node.name] = node
            known = before if before and before.state != ADDED else None
            found = list(self._changes(known, node, joined))
            self._mark_seen(node, now)
            self._save(node)
        self._record_all(hello.node, found)
        return node

    def add(self, name: str) -> None:
        """Expect a node, also one that was removed; a known one stays as it is."""
        with self._guard:
            node = self._nodes.get(name)
            if node is not None and node.state != REMOVED:
                return
            now = self._now()
            node = node or NodeRecord(name, first_seen_ms=now)
            node.state = ADDED
            self._nodes[name] = node
            self._save(node)
        self._record_event(Event("node_added", now, "node added", {"node": name}))

    def mark_seen(self, name: str) -> None:
        """Note that a node sent something."""
        with self._guard:
            node = self._nodes.get(name)
            if node and node.state != REMOVED:
                self._mark_seen(node, self._now())

    def set_inventory(self, name: str, inventory: dict[str, str]) -> None:
        """Store a node's hardware, and record an event if it is less than before."""
        with self._guard:
            node = self._nodes[name]
            missing = node.missing
            _set_inventory(node, inventory)
            found = list(_missing_hardware(node, missing))
            self._save(node)
        self._record_all(name, found)

    def set_gpus(self, name: str, gpus: Mapping[str, str]) -> bool:
        """Store the indexes of a node's GPUs by PCI address; tell whether that is new."""
        with self._guard:
            node = self._nodes[name]
            merged = dict(itertools.islice({**gpus, **node.gpus, **gpus}.items(), MAX_GPUS))
            changed = merged != node.gpus
            if changed:
                node.gpus = merged
                self._save(node)
        return changed

    def add_gpu_index(self, name: str, where: Mapping[str, str]) -> dict[str, str]:
        """Return a place with the index of its GPU: the kernel's log knows only the PCI address."""
        with self._guard:
            node = self._nodes.get(name)
            return add_gpu_index(where, node.gpus if node else {})

    def set_boot_time(self, name: str, boot_ms: int) -> None:
        """Store when, by our clock, a node's uptime was 0."""
        with self._guard:
            self._nodes[name].boot_ms = boot_ms
            self._save(self._nodes[name])

    def set_clock_offset(self, name: str, offset_ms: int) -> None:
        """Store a node's clock offset; an event is recorded when it passes ten seconds either way."""
        with self._guard:
            node = self._nodes[name]
            was, node.clock_offset_ms = node.clock_offset_ms, offset_ms
        if (abs(was) > CLOCK_MS) != (abs(offset_ms) > CLOCK_MS):
            off = abs(offset_ms) > CLOCK_MS
            what = (
                f"clock off by {offset_ms / 1000:+.0f} s, timestamps are corrected"
                if off
                else "clock in sync"
            )
            severity = "warning" if off else "info"
            self._record_event(Event("clock_off", self._now(), what, {"node": name}, severity=severity))

    def mark_stopped(self, name: str) -> bool:
        """Note that an agent stopped; tell whether its node was still a member."""
        with self._guard:
            node = self._nodes[name]
            if node.state == REMOVED:
                return False
            node.state, node.gone_ms = STOPPED, self._now()
            gone = _absence_event(node)
            self._save(node)
        self._record_event(gone)
        return True

    def remove(self, name: str) -> bool:
        """Remove a node but for its name; tell whether it was a member."""
        with self._guard:
            node = self._nodes.get(name)
            if node is None or node.state == REMOVED:
                return False
            self._end_absence(node, self._now())
            node.state = REMOVED
            self._save(node)
        self._record_event(Event("node_removed", self._now(), "node removed", {"node": name}))
        return True

    def watch(self) -> None:
        """Update states, record lost nodes and save the others; called every second or so."""
        now = self._now()
        with self._guard:
            lost = [node for node in self._nodes.values() if self._update_state(node, now)]
            for node in lost:  # before anything is saved, which may fail
                self._record_event(_absence_event(node))
            self._save(*lost, *[node for node in self._nodes.values() if self._is_stale(node)])

    def _update_state(self, node: NodeRecord, now: int) -> bool:
        """Set the state from how long the node has been silent; tell whether it is lost now."""
        if node.state not in (UP, LATE):
            return False
        silent = now - max(node.last_seen_ms, self._since)
        cadence = round(node.cadence * 1000)
        if silent > lost_after(cadence):
            node.state, node.gone_ms = LOST, node.last_seen_ms
            return True
        node.state = LATE if silent > late_after(cadence) else UP
        return False

    def _is_stale(self, node: NodeRecord) -> bool:
        """Tell whether `last_seen_ms` on disk is too old."""
        return node.last_seen_ms - self._saved.get(node.name, 0) > SAVE_MS

    def _mark_seen(self, node: NodeRecord, now: int) -> None:
        node.last_seen_ms = now
        self._end_absence(node, now)
        node.state = UP

    def _end_absence(self, node: NodeRecord, now: int) -> None:
        if node.gone_ms is not None:
            ended = _absence_event(node, now)
            node.gone_ms = None
            self._record_event(ended)

    def _changes(self, before: NodeRecord | None, node: NodeRecord, joined: bool) -> Iterator[EventParts]:
        where = ", ".join(node.addresses)
        if before is None or before.machine_id != node.machine_id:
            yield from self._same_machine_events(node)
        if before is None:
            yield "node_joined", f"{node.host} joined from {where}", "info"
            return
        if joined:
            yield (
                "node_rejoined",
                f"{node.host} joined again with the join token, from {where}",
                "warning",
            )
        if before.machine_id and node.machine_id and before.machine_id != node.machine_id:
            yield "machine_changed", f"{node.name} is a different machine now, at {where}", "warning"
        if before.addresses != node.addresses:
            yield "address_changed", f"from {', '.join(before.addresses)} to {where}", "info"
        if before.host != node.host:
            yield "host_name_changed", f"from {before.host} to {node.host}", "info"
        yield from _missing_hardware(node, before.missing)

    def _same_machine_events(self, node: NodeRecord) -> Iterator[EventParts]:
        """Yield an event about nodes with the same machine-id; of a cloned image there may be hundreds."""
        twins = [other for other in self._nodes.values() if _same_machine(other, node)]
        live = [other.name for other in twins if other.state in (UP, LATE)]
        if live:
            others = live[0] if len(live) == 1 else f"{len(live)} others, such as {live[0]},"
            what = f"{node.name} and {others} have the same machine-id: is one a clone?"
            yield "machine_id_cloned", what, "warning"
        elif twins:
            was = twins[-1]
            yield "node_renamed", f"this machine was {was.name} before, which is {was.state}", "info"

    def _record_all(self, name: str, found: Iterable[EventParts]) -> None:
        for kind, what, severity in found:
            self._record_event(Event(kind, self._now(), what, {"node": name}, severity=severity))

    def _save(self, *nodes: NodeRecord) -> None:
        if not nodes:
            return
        with self._database.transaction() as connection:
            connection.executemany(
                "insert or replace into nodes (name, facts) values (?, ?)",
                [(node.name, msgspec.json.encode(node).decode()) for node in nodes],
            )
        self._saved.update((node.name, node.last_seen_ms) for node in nodes)


def node_facts(node: NodeRecord) -> dict[str, Any]:
    found = structs.asdict(node)
    for inner in ("start", "boot_ms", "gone_ms", "machine_id", "boot_id", "clock_offset_ms", "gpus"):
        del found[inner]
    return {**found, "missing": node.missing, "clock_offset_seconds": node.clock_offset_ms / 1000}


def _update_from_hello(hello: Hello, address: str, before: NodeRecord | None, now: int) -> NodeRecord:
    node = structs.replace(before) if before else NodeRecord(hello.node, first_seen_ms=now)
    node.host, node.machine_id, node.version = hello.host, hello.machine_id, hello.version
    node.addresses = list(dict.fromkeys([address, *hello.addresses]))
    node.start, node.cadence, node.labels = hello.start, hello.cadence, hello.labels
    node.listen = hello.listen
    if node.boot_id != hello.boot_id:
        node.boot_id, node.boot_ms = hello.boot_id, 0
    _set_inventory(node, hello.inventory)
    return node


def _set_inventory(node: NodeRecord, inventory: dict[str, str]) -> None:
    node.inventory = inventory
    for name in HARDWARE:
        if name in inventory and not _less(inventory[name], node.expected.get(name, "")):
            node.expected = {**node.expected, name: inventory[name]}


def _missing_hardware(node: NodeRecord, before: list[str]) -> Iterator[EventParts]:
    """Yield an event about missing hardware, if that changed."""
    if node.missing and node.missing != before:
        missing = ", ".join(
            f"{HARDWARE[name]} {node.inventory[name]} of {node.expected[name]}" for name in node.missing
        )
        yield "hardware_missing", missing, "warning"


def _same_machine(other: NodeRecord, node: NodeRecord) -> bool:
    same = bool(node.machine_id) and other.machine_id == node.machine_id
    return same and other.name != node.name and other.state != REMOVED


def _less(present: str, expected: str) -> bool:
    try:
        # A newer kernel may keep a little more memory to itself.
        return float(present or 0) < 0.98 * float(expected or 0)
    except ValueError:
        return False


def _absence_event(node: NodeRecord, end_ms: int | None = None) -> Event:
    begin = node.gone_ms if node.gone_ms is not None else node.last_seen_ms
    where = {"node": node.name}
    if node.state == STOPPED:
        return Event("node_stopped", begin, "agent stopped", where, end_ms)
    return Event("node_lost", begin, "no data from the node", where, end_ms, "critical")


def _decode(facts: str) -> Iterator[NodeRecord]:
    try:
        yield msgspec.json.decode(facts, type=NodeRecord)
    except DECODE_ERRORS:
        return  # the node sends it again
