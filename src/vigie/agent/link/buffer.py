"""Unacknowledged entries: in memory, then on disk, the oldest dropped first."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from vigie.agent.link.buffer_memory import BufferMemory, estimate_names
from vigie.agent.link.entries import (
    EncodedFrame,
    Entry,
    decode_segment,
    encode_segment,
    estimate_size,
    get_time,
)
from vigie.common.change_logger import ChangeLogger
from vigie.common.spool import Spool, SpoolRecord
from vigie.wire.messages import MalformedMessageError

MAX_MEMORY_BYTES = 8 << 20
SEGMENT_BYTES = 1 << 20  # of entries written to disk together
SEGMENT_NAME_BYTES = 8 << 20  # of their series names, which may change with each frame
WINDOW = 64  # unacknowledged entries


class _Sent(NamedTuple):
    entry: Entry
    from_disk: bool


class LinkBuffer:
    """Live entries are sent first, then the backlog. Each is kept until it is acknowledged."""

    def __init__(self, spool: Spool | None, boot_id: str, memory: int = MAX_MEMORY_BYTES) -> None:
        self._usage = BufferMemory()
        self._dropped = 0
        self._spool = spool
        self._boot_id = boot_id
        self._max_bytes = memory
        self._live: deque[Entry] = deque()
        self._waiting: deque[Entry] = deque()
        self._segment: deque[Entry] = deque()  # the oldest on disk, being sent
        self._record: SpoolRecord | None = None
        self._sent: dict[int, _Sent] = {}
        self._sequence = 0
        self._log_change = ChangeLogger("link buffer")

    @property
    def bytes(self) -> int:
        """Return the memory in use."""
        return self._usage.bytes

    @property
    def dropped(self) -> int:
        """Return how many entries were dropped because the buffer was full."""
        return self._dropped + (self._spool.dropped if self._spool else 0)

    @property
    def disk_bytes(self) -> int:
        return self._spool.bytes if self._spool else 0

    @property
    def in_memory(self) -> int:
        """Return how many entries are in memory, including those in flight."""
        return len(self._live) + len(self._waiting) + len(self._segment) + len(self._sent)

    @property
    def has_waiting(self) -> bool:
        """Return whether the backlog has entries to send and the window is open."""
        waits = self._waiting or self._segment or (self._record is None and self.disk_bytes)
        return bool(waits) and len(self._sent) < WINDOW

    @property
    def in_flight(self) -> int:
        """Return how many entries are sent and not acknowledged."""
        return len(self._sent)

    def put(self, entry: Entry) -> None:
        """Add a new entry. When memory is full, the oldest are moved to disk."""
        self._live.append(entry)
        self._usage.add(entry)
        while self.bytes > self._max_bytes and (self._waiting or len(self._live) > 1):
            self._spill()

    def next_live(self) -> tuple[int, Entry] | None:
        """Return the next live entry with its sequence number, marked as sent."""
        return self._send_from(self._live, from_disk=False)

    def next_waiting(self) -> tuple[int, Entry] | None:
        """Return the oldest entry of the backlog with its sequence number, marked as sent."""
        if not self._segment and self._record is None:
            self._open_segment()
        return self._send_from(self._segment, from_disk=True) or self._send_from(
            self._waiting, from_disk=False
        )

    def acknowledge(self, sequence: int) -> int:
        """Drop everything up to a sequence number; return the number of entries."""
        done = [number for number in self._sent if number <= sequence]
        for number in done:
            entry, from_disk = self._sent.pop(number)
            if not from_disk:
                self._usage.remove(entry)
        if self._record and not self._segment and not any(sent.from_disk for sent in self._sent.values()):
            assert self._spool is not None
            self._spool.take(self._record)
            self._record = None
        return len(done)

    def disconnect(self) -> None:
        """Move live entries to the backlog. Those in flight may have arrived; the next welcome tells."""
        self._waiting.extend(self._live)
        self._live.clear()

    def reconnect(self, acknowledged: int) -> None:
        """Drop what the server has synced, and queue the rest again."""
        self.acknowledge(acknowledged)
        back = [sent.entry for sent in self._sent.values() if not sent.from_disk]
        self._waiting = deque(sorted([*back, *self._waiting], key=get_time))
        self._sent.clear()
        self._segment.clear()  # it is still on disk
        self._record = None

    def close(self) -> None:
        """Write everything to disk for the next start."""
        self.disconnect()
        self.reconnect(0)
        while self._spool and self._waiting:
            self._spill()
        if self._spool:
            self._spool.close()

    def _send_from(self, queue: deque[Entry], *, from_disk: bool) -> tuple[int, Entry] | None:
        if not queue or len(self._sent) >= WINDOW:
            return None
        self._sequence += 1
        entry = queue.popleft()
        self._sent[self._sequence] = _Sent(entry, from_disk)
        return self._sequence, entry

    def _spill(self) -> None:
        queue = self._waiting or self._live
        entries = _take_segment(queue, SEGMENT_BYTES if self._spool else 0)
        for entry in entries:
            self._usage.remove(entry)
        if self._spool:
            body = encode_segment(entries, self._boot_id)
            self._spool.put(SpoolRecord(len(entries), time.time_ns() // 1_000_000, body))
            self._log_change(self._spool.trouble)
        else:
            self._dropped += len(entries)

    def _open_segment(self) -> None:
        while self._spool and (record := self._spool.peek()):
            try:
                self._segment = deque(decode_segment(record.body, self._boot_id))
            except MalformedMessageError:
                self._segment.clear()
            if self._segment:
                self._record = record
                return
            self._dropped += record.samples
            self._spool.take(record)


def _take_segment(queue: deque[Entry], most: int) -> list[Entry]:
    taken: list[Entry] = []
    total, named = 0, 0
    tables: set[int] = set()
    while queue and (not taken or (total < most and named < SEGMENT_NAME_BYTES)):
        entry = queue.popleft()
        taken.append(entry)
        total += estimate_size(entry)
        for table, _ in entry.parts if isinstance(entry, EncodedFrame) else ():
            named += 0 if id(table) in tables else estimate_names(table)
            tables.add(id(table))
    return taken
