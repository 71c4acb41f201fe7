"""What sources and the agent ask of a GPU driver that they share."""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Protocol

Note = Callable[[str, object], None]


class GpuProcess(NamedTuple):
    """A process that computes on a GPU. Not every driver tells how much memory it holds there."""

    pid: int
    memory_bytes: Optional[int]  # noqa: UP045 - evaluated on Python 3.9
    instance: str = ""  # of MIG


class GpuUsers(NamedTuple):
    """One GPU and its processes; None where the driver does not list them."""

    gpu: int
    uuid: str
    parts: dict[str, str]  # MIG instances by UUID
    processes: Optional[tuple[GpuProcess, ...]]  # noqa: UP045


class GpuState(NamedTuple):
    """One GPU and its processes; None where the driver does not tell."""

    gpu: int  # index
    busy_percent: Optional[float]  # noqa: UP045
    temperature_celsius: Optional[float]  # noqa: UP045
    memory_used_bytes: Optional[int]  # noqa: UP045
    memory_total_bytes: Optional[int]  # noqa: UP045
    processes: Optional[tuple[GpuProcess, ...]]  # noqa: UP045


class GpuDriver(Protocol):
    """A driver whose handles an operator can have closed for a time."""

    @property
    def released(self) -> str:
        """Return by whom and until when the handles are closed; empty if they are not."""

    def release(self, seconds: float, by: str) -> str:
        """Close every handle for a time; return why that failed, or an empty text."""

    def resume(self) -> None:
        """Open the handles again at the next read."""

    def users(self, note: Note) -> list[GpuUsers]:
        """Return the processes of every GPU that answers, note why others do not, or raise Unavailable."""

    def states(self, note: Note) -> list[GpuState]:
        """Return the state of every GPU that answers, note why others do not, or raise Unavailable."""

    def close(self) -> None:
        """Close the handles for good."""


class PausableProfiler(Protocol):
    """Profiling that an operator can pause, because only one program may profile a GPU."""

    def pause(self, seconds: float, by: str) -> str:
        """Stop for a time; return by whom and until when."""

    def resume(self) -> None:
        """Start again."""
