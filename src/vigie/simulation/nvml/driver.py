"""A machine with simulated NVIDIA GPUs: the library, and the script it follows."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

COST_FILE = struct.Struct("4d")  # as in spending.c


class DriverCost(NamedTuple):
    """Cost of the library: calls, total and longest duration, and CPU time."""

    calls: float
    total: float
    longest: float
    processor: float


class SimulatedDriver:
    """A copy of the library in its own directory, and its script.

    A line of the script is `who field value`, with ` @seconds` for a later start. `who` is a GPU index,
    `*` for all, `0/1` for a MIG instance, or `system`. `none` removes a value. Errors are
    `error.FUNCTION code`, hanging calls `hang.FUNCTION seconds`; `*` matches every function.
    """

    def __init__(self, directory: Path, built: Path, lines: Iterable[str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.library = directory / "libnvidia-ml.so.1"
        self.device = directory / "device"  # open while the library has the GPUs open
        self.spent = directory / "spent"
        shutil.copyfile(built, self.library)
        self._directory = directory
        self._lines: list[str] = []
        self.set(*lines)

    def set(self, *lines: str) -> None:
        """Add lines to the script. The library follows them from its next call."""
        self._lines.extend(lines)
        self._write()

    def clear(self, *lines: str) -> None:
        """Remove lines from the script."""
        self._lines = [line for line in self._lines if line not in lines]
        self._write()

    def count_calls(self) -> None:
        """Let the library count its calls and their duration in the file `spent`."""
        self.spent.write_bytes(bytes(COST_FILE.size))

    def describe(self) -> DriverCost:
        return DriverCost(*COST_FILE.unpack(self.spent.read_bytes()))

    def count_handles(self) -> bool:
        """Return whether this process has a driver handle open."""
        wanted = os.path.realpath(self.device)
        return any(_format_target(f"/proc/self/fd/{name}") == wanted for name in os.listdir("/proc/self/fd"))

    def _write(self) -> None:
        fresh = self._directory / "scenario.new"
        fresh.write_text("".join(f"{line}\n" for line in self._lines))
        os.replace(fresh, self._directory / "scenario")


def _format_target(path: str) -> str:
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""
