"""A thread between the loop and a destination that may block: bounded, oldest frames dropped first."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from vigie.common.change_logger import ChangeLogger
from vigie.model import Frame

MAX_FRAMES = 64


class BackgroundSink:
    """Takes frames at once and writes them in its own time."""

    def __init__(
        self, name: str, write: Callable[[Frame], None], end: Callable[[], None] = lambda: None
    ) -> None:
        self.dropped = 0
        self._write = write
        self._end = end
        self._frames: deque[Frame] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._complain = ChangeLogger(name)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def __call__(self, frame: Frame) -> None:
        """Take a frame; when the destination is that far behind, the oldest one goes."""
        with self._changed:
            if len(self._frames) >= MAX_FRAMES:
                self._frames.popleft()
                self.dropped += 1
                self._complain(f"behind by {MAX_FRAMES} frames, dropping the oldest")
            self._frames.append(frame)
            self._changed.notify()

    def close(self, seconds: float = 5.0) -> None:
        """Write what is left, for at most so many seconds, and end the destination."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(seconds)
        self._end()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._frames and not self._closing:
                    self._changed.wait()
                if not self._frames:
                    return
                frame = self._frames.popleft()
            try:
                self._write(frame)
                self._complain("")
            except OSError as error:
                self._complain(str(error))
