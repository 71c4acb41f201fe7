"""What the agent does with a GPU driver that sources share."""

from __future__ import annotations

from typing import Protocol


class GpuDriver(Protocol):
    """A driver whose handles an operator can have closed for a time."""

    @property
    def released(self) -> str:
        """Return by whom and until when the handles are closed; empty if they are not."""

    def release(self, seconds: float, by: str) -> str:
        """Close every handle for a time; return why that failed, or an empty text."""

    def resume(self) -> None:
        """Open the handles again at the next read."""

    def close(self) -> None:
        """Close the handles for good."""


class PausableProfiler(Protocol):
    """Profiling that an operator can pause, because only one program may profile a GPU."""

    def pause(self, seconds: float, by: str) -> str:
        """Stop for a time; return by whom and until when."""

    def resume(self) -> None:
        """Start again."""
