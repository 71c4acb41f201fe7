"""A node's time by our clock: its wall clock may be wrong or stepped, its uptime is neither."""

from __future__ import annotations

from vigie.server.cluster.nodes import CLOCK_MS
from vigie.wire.messages import FrameMessage

HELD_MS = 2_000  # a measure that differs by less changes nothing, so that a replay gets the same times


class NodeClock:
    """Knows when, by our clock, the node's uptime was 0."""

    def __init__(self, boot_ms: int) -> None:
        self.boot_ms = boot_ms  # 0: not measured yet
        self.offset_ms = 0  # how far the node's wall clock was off in its last frame

    def measured(self, uptime_ms: int, at_ms: int) -> bool:
        """Take the node's uptime at a time of ours; tell whether that changes what we knew."""
        boot = at_ms - uptime_ms
        if self.boot_ms and abs(boot - self.boot_ms) <= HELD_MS:
            return False
        self.boot_ms = boot
        return True

    def time_of(self, frame: FrameMessage) -> int:
        """Return when a frame was made: as it says, unless its clock is off by more than ten seconds."""
        if not frame.uptime_ms or not self.boot_ms:  # kept over a reboot: what it says is all there is
            return frame.time_ms
        ours = self.boot_ms + frame.uptime_ms
        self.offset_ms = frame.time_ms - ours
        return frame.time_ms if abs(self.offset_ms) <= CLOCK_MS else ours
