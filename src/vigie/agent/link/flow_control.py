"""How much of what waited may be on its way at once: more while the server is quick, less while it is slow.

A thousand agents whose server comes back share its one queue: what each puts there delays the live
entries of all the others. So nothing goes before a live entry has come through in good time.
"""

from __future__ import annotations

QUICK_SECONDS, SLOW_SECONDS = 1.5, 3.0  # a server that keeps up acknowledges within a second
HOLD_SECONDS = 15.0  # then it is tried in any case
MAX_WINDOW = 32


class FlowControl:
    """The entries of one connection, from sending to acknowledgement."""

    def __init__(self, now: float) -> None:
        self.window = 0
        self._started = now
        self._live: dict[int, float] = {}
        self._sent: dict[int, float] = {}

    def start_if_idle(self, now: float) -> None:
        """Begin with the backlog, if no live entry has come for long."""
        if not self.window and now - self._started > HOLD_SECONDS:
            self.window = 1

    def record_live(self, sequence: int, now: float) -> None:
        """Take note of a live entry that is on its way, while that still tells something."""
        if not self.window:
            self._live[sequence] = now

    @property
    def may_send(self) -> bool:
        """Tell whether one more may be sent."""
        return len(self._sent) < self.window

    def record_sent(self, sequence: int, now: float) -> None:
        """Take note of an entry that is on its way."""
        self._sent[sequence] = now

    def acknowledge(self, sequence: int, now: float) -> None:
        """Take note that all up to a sequence have arrived, and learn from how long the oldest took."""
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
