"""Limits how much of the backlog is in flight: more while the server is fast, less while it is slow.

After an outage, a thousand agents share the server's queue, and the backlog of each delays the live
entries of all. So the backlog waits until a live entry was acknowledged in good time.
"""

from __future__ import annotations

QUICK_SECONDS, SLOW_SECONDS = 1.5, 3.0  # a server that keeps up acknowledges within a second
HOLD_SECONDS = 15.0  # start anyway after this time
MAX_WINDOW = 32


class FlowControl:
    """Entries of one connection, from sending to acknowledgement."""

    def __init__(self, now: float) -> None:
        self.window = 0
        self._started = now
        self._live: dict[int, float] = {}
        self._sent: dict[int, float] = {}

    def start_if_idle(self, now: float) -> None:
        """Start with the backlog if no live entry was sent for long."""
        if not self.window and now - self._started > HOLD_SECONDS:
            self.window = 1

    def record_live(self, sequence: int, now: float) -> None:
        """Record that a live entry was sent, until the window opens."""
        if not self.window:
            self._live[sequence] = now

    @property
    def may_send(self) -> bool:
        """Return whether the window is open."""
        return len(self._sent) < self.window

    def record_sent(self, sequence: int, now: float) -> None:
        self._sent[sequence] = now

    def acknowledge(self, sequence: int, now: float) -> None:
        """Record an acknowledgement, and adjust the window to the longest delay."""
        live = [number for number in self._live if number <= sequence]
        if live and now - min(self._live.pop(number) for number in live) < SLOW_SECONDS:
            self.window = self.window or 1
        done = [number for number in self._sent if number <= sequence]
        if not done:
            return
        longest = now - min(self._sent.pop(number) for number in done)
        if longest > SLOW_SECONDS:
            self.window = max(1, self.window // 2)
        elif longest < QUICK_SECONDS:
            self.window = min(MAX_WINDOW, self.window + len(done))
