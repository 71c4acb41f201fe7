"""The nodes of the cluster: who they are, when they were last heard, and in what state that leaves them."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from vigie.model import Event
from vigie.server.staleness.gaps import late_after, lost_after
from vigie.wire.messages import DECODE_ERRORS, Hello

ADDED, UP, LATE, LOST, STOPPED, REMOVED = "added", "up", "late", "lost", "stopped", "removed"
SAVE_MS = 30_000  # how stale a time of last hearing may be on disk
CLOCK_MS = 10_000  # a clock further off than this is corrected
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}")
HARDWARE = ("cpus", "memory_bytes", "gpus")  # what a node is expected to have again
News = tuple[str, str, str]  # kind, sentence and severity of an event


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
    expected: dict[str, str] = {}
    boot_ms: int = 0  # when, by our clock, the node's uptime was 0
    clock_offset_ms: int = 0

    @property
    def missing(self) -> list[str]:
        """Return what hardware the node had once and has no more; what it does not tell of may be there."""
        has = self.inventory
        return [name for name, had in self.expected.items() if name in has and _less(has[name], had)]


class NodeStore:
    """The nodes of a data directory; any thread may call."""

    def __init__(self, path: Path, tell: Callable[[Event], None], now_ms: Callable[[], int]) -> None:
        self._tell, self._now = tell, now_ms
        self._since = now_ms()  # before that we were not there to hear anybody
        self._guard = threading.RLock()
        self._database = sqlite3.connect(path, check_same_thread=False, timeout=10)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = normal")  # nothing here that a node would not tell again
        self._database.execute(
            "create table if not exists nodes (name text primary key, facts text not null)"
        )
        rows = self._database.execute("select facts from nodes").fetchall()
        self._nodes = {node.name: node for (facts,) in rows for node in _read(facts)}
        self._saved = {name: node.last_seen_ms for name, node in self._nodes.items()}

    def close(self) -> None:
        """Write when everybody was last heard, and let go of the file."""
        with self._guard, contextlib.closing(self._database):
            self._save(*self._nodes.values())

    def nodes(self) -> list[NodeRecord]:
        with self._guard:
            return [structs.replace(self._nodes[name]) for name in sorted(self._nodes)]

    def find(self, name: str) -> NodeRecord | None:
        with self._guard:
            found = self._nodes.get(name)
            return structs.replace(found) if found else None

    def connected(self, hello: Hello, address: str, *, joined: bool) -> NodeRecord:
        """Note that a node is here, and tell what about it is new."""
        now = self._now()
        with self._guard:
            before = self._nodes.get(hello.node)
            node = _introduced(hello, address, before, now)
            self._nodes[node.name] = node
            known = before if before and before.state != ADDED else None
            found = list(self._news(known, node, joined))
            self._heard(node, now)
            self._save(node)
        self._tell_all(hello.node, found)
        return node

    def add(self, name: str) -> None:
        """Expect a node, one that was removed too; one that is known stays as it is."""
        with self._guard:
            node = self._nodes.get(name)
            if node is not None and node.state != REMOVED:
                return
            now = self._now()
            node = node or NodeRecord(name, first_seen_ms=now)
            node.state = ADDED
            self._nodes[name] = node
            self._save(node)
        self._tell(Event("node_added", now, "the node is expected", {"node": name}))

    def heard(self, name: str) -> None:
        """Note that a node says something."""
        with self._guard:
            node = self._nodes.get(name)
            if node and node.state != REMOVED:
                self._heard(node, self._now())

    def equipped(self, name: str, inventory: dict[str, str]) -> None:
        """Note what a node's machine has now, and tell if that is less than before."""
        with self._guard:
            node = self._nodes[name]
            missing = node.missing
            _equip(node, inventory)
            found = list(_shortage(node, missing))
            self._save(node)
        self._tell_all(name, found)

    def booted(self, name: str, boot_ms: int) -> None:
        """Note when, by our clock, a node was at uptime 0."""
        with self._guard:
            self._nodes[name].boot_ms = boot_ms
            self._save(self._nodes[name])

    def clock(self, name: str, offset_ms: int) -> None:
        """Note how far a node's clock is off; more than ten seconds, and the way back, are told."""
        with self._guard:
            node = self._nodes[name]
            was, node.clock_offset_ms = node.clock_offset_ms, offset_ms
        if (abs(was) > CLOCK_MS) != (abs(offset_ms) > CLOCK_MS):
            off = abs(offset_ms) > CLOCK_MS
            what = (
                f"its clock is {offset_ms / 1000:+.0f} s off: times are corrected"
                if off
                else "its clock is right"
            )
            severity = "warning" if off else "info"
            self._tell(Event("clock_off", self._now(), what, {"node": name}, severity=severity))

    def stopped(self, name: str) -> bool:
        """Note that a node said goodbye; tell whether it was still one of ours."""
        with self._guard:
            node = self._nodes[name]
            if node.state == REMOVED:
                return False
            node.state, node.gone_ms = STOPPED, self._now()
            gone = _gone(node)
            self._save(node)
        self._tell(gone)
        return True

    def remove(self, name: str) -> bool:
        """Forget a node but for its name; tell whether it was there."""
        with self._guard:
            node = self._nodes.get(name)
            if node is None or node.state == REMOVED:
                return False
            self._returned(node, self._now())  # nobody waits for it any more
            node.state = REMOVED
            self._save(node)
        self._tell(Event("node_removed", self._now(), "the node was removed", {"node": name}))
        return True

    def watch(self) -> None:
        """Look who has not been heard for too long, and save who was; every second or so."""
        now = self._now()
        with self._guard:
            lost = [node for node in self._nodes.values() if self._judge(node, now)]
            for node in lost:  # before anything is saved, which may fail
                self._tell(_gone(node))
            self._save(*lost, *[node for node in self._nodes.values() if self._is_stale(node)])

    def _judge(self, node: NodeRecord, now: int) -> bool:
        """Set the state by how long the node has been silent; tell whether it is lost now."""
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
        """Tell whether the time of last hearing on disk is too old."""
        return node.last_seen_ms - self._saved.get(node.name, 0) > SAVE_MS

    def _heard(self, node: NodeRecord, now: int) -> None:
        node.last_seen_ms = now
        self._returned(node, now)
        node.state = UP

    def _returned(self, node: NodeRecord, now: int) -> None:
        if node.gone_ms is not None:
            ended = _gone(node, now)
            node.gone_ms = None
            self._tell(ended)

    def _news(self, before: NodeRecord | None, node: NodeRecord, joined: bool) -> Iterator[News]:
        where = ", ".join(node.addresses)
        if before is None or before.machine_id != node.machine_id:
            yield from self._twins(node)
        if before is None:
            yield "node_joined", f"{node.host} joined from {where}", "info"
            return
        if joined:
            yield (
                "node_rejoined",
                f"{node.host} took its name back with the join token, from {where}",
                "warning",
            )
        if before.machine_id and node.machine_id and before.machine_id != node.machine_id:
            yield "machine_changed", f"{node.name} is another machine now, at {where}", "warning"
        if before.addresses != node.addresses:
            yield "address_changed", f"from {', '.join(before.addresses)} to {where}", "info"
        if before.host != node.host:
            yield "host_name_changed", f"from {before.host} to {node.host}", "info"
        yield from _shortage(node, before.missing)

    def _twins(self, node: NodeRecord) -> Iterator[News]:
        """Yield what other nodes with the same machine-id mean; of a cloned image there may be hundreds."""
        twins = [other for other in self._nodes.values() if _same_machine(other, node)]
        live = [other.name for other in twins if other.state in (UP, LATE)]
        if live:
            others = live[0] if len(live) == 1 else f"{len(live)} others, such as {live[0]},"
            what = f"{node.name} and {others} have the same machine-id: is one a clone of the other?"
            yield "machine_id_cloned", what, "warning"
        elif twins:
            was = twins[-1]
            yield "node_renamed", f"this machine was {was.name} before, which is {was.state}", "info"

    def _tell_all(self, name: str, found: Iterable[News]) -> None:
        for kind, what, severity in found:
            self._tell(Event(kind, self._now(), what, {"node": name}, severity=severity))

    def _save(self, *nodes: NodeRecord) -> None:
        if not nodes:
            return
        with self._database:
            self._database.executemany(
                "insert or replace into nodes values (?, ?)",
                [(node.name, msgspec.json.encode(node).decode()) for node in nodes],
            )
        self._saved.update((node.name, node.last_seen_ms) for node in nodes)


def node_facts(node: NodeRecord) -> dict[str, Any]:
    found = structs.asdict(node)
    for inner in ("start", "boot_ms", "gone_ms", "machine_id", "boot_id", "clock_offset_ms"):
        del found[inner]
    return {**found, "missing": node.missing, "clock_offset_seconds": node.clock_offset_ms / 1000}


def _introduced(hello: Hello, address: str, before: NodeRecord | None, now: int) -> NodeRecord:
    node = structs.replace(before) if before else NodeRecord(hello.node, first_seen_ms=now)
    node.host, node.machine_id, node.version = hello.host, hello.machine_id, hello.version
    node.addresses = list(dict.fromkeys([address, *hello.addresses]))
    node.start, node.cadence, node.labels = hello.start, hello.cadence, hello.labels
    node.listen = hello.listen
    if node.boot_id != hello.boot_id:
        node.boot_id, node.boot_ms = hello.boot_id, 0
    _equip(node, hello.inventory)
    return node


def _equip(node: NodeRecord, inventory: dict[str, str]) -> None:
    node.inventory = inventory
    for name in HARDWARE:
        if name in inventory and not _less(inventory[name], node.expected.get(name, "")):
            node.expected = {**node.expected, name: inventory[name]}


def _shortage(node: NodeRecord, before: list[str]) -> Iterator[News]:
    """Yield what is missing, if that is news."""
    if node.missing and node.missing != before:
        had = ", ".join(f"{name} {node.inventory[name]} of {node.expected[name]}" for name in node.missing)
        yield "hardware_missing", f"the node came back with less: {had}", "warning"


def _same_machine(other: NodeRecord, node: NodeRecord) -> bool:
    same = bool(node.machine_id) and other.machine_id == node.machine_id
    return same and other.name != node.name and other.state != REMOVED


def _less(present: str, expected: str) -> bool:
    try:
        # A newer kernel may keep a little more memory to itself.
        return float(present or 0) < 0.98 * float(expected or 0)
    except ValueError:
        return False


def _gone(node: NodeRecord, end_ms: int | None = None) -> Event:
    begin = node.gone_ms if node.gone_ms is not None else node.last_seen_ms
    where = {"node": node.name}
    if node.state == STOPPED:
        return Event("node_stopped", begin, "the agent was stopped", where, end_ms)
    return Event("node_lost", begin, "nothing is heard of the node", where, end_ms, "critical")


def _read(facts: str) -> Iterator[NodeRecord]:
    try:
        yield msgspec.json.decode(facts, type=NodeRecord)
    except DECODE_ERRORS:
        return  # a node that cannot be read introduces itself again
