"""A machine with simulated NVIDIA GPUs: its library, and the script that the library follows."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

COST_FILE = struct.Struct("4d")  # as in spending.c


class DriverCost(NamedTuple):
    """What was spent in the library: calls, and seconds in all, at most at once, and of the processor."""

    calls: float
    total: float
    longest: float
    processor: float


class SimulatedDriver:
    """One copy of the library in a directory of its own, and its script.

    A line of the script is `who field value`, with ` @seconds` where it begins later. `who` is a GPU's
    number, `*` for all, `0/1` for a MIG instance, or `system`. `none` takes a value back. Errors are
    `error.FUNCTION code`, calls that hang `hang.FUNCTION seconds`; `*` stands for every function.
    """

    def __init__(self, directory: Path, built: Path, lines: Iterable[str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.library = directory / "libnvidia-ml.so.1"
        self.device = directory / "device"  # open as long as the library holds on to the GPUs
        self.spent = directory / "spent"
        shutil.copyfile(built, self.library)
        self._directory = directory
        self._lines: list[str] = []
        self.set(*lines)

    def set(self, *lines: str) -> None:
        """Add lines to the script; the library follows them from its next call on."""
        self._lines.extend(lines)
        self._write()

    def clear(self, *lines: str) -> None:
        """Remove lines from the script."""
        self._lines = [line for line in self._lines if line not in lines]
        self._write()

    def count_calls(self) -> None:
        """Have the library tell in its file `spent` how often and how long it was called."""
        self.spent.write_bytes(bytes(COST_FILE.size))

    def describe(self) -> DriverCost:
        """Return what the library has told so far."""
        return DriverCost(*COST_FILE.unpack(self.spent.read_bytes()))

    def count_handles(self) -> bool:
        """Tell whether this process holds a handle of the driver."""
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
