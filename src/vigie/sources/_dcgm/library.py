"""Calls into libdcgm.so, each with its name in the error."""

from __future__ import annotations

import ctypes

NAMES = ("libdcgm.so.4", "libdcgm.so.3", "libdcgm.so")
MEANINGS = {
    -1: "an argument is not valid",
    -3: "DCGM cannot say why",
    -6: "not supported",
    -7: "DCGM cannot be initialised",
    -8: "the driver refused it",
    -10: "the connection is over",
    -11: "no answer in time",
    -12: "this version of DCGM has other structures",
    -14: "there are no data yet",
    -16: "nobody watches it",
    -17: "no permission: the host engine has to run as root",
    -18: "the GPU has fallen off the bus",
    -19: "the GPU has to be reset",
    -20: "this version of DCGM lacks the call",
    -21: "no host engine answers",
    -22: "not supported by this GPU",
    -25: "a library that DCGM needs is missing",
    -29: "the host engine has to run as root",
    -33: "the engine has no module for profiling (package datacenter-gpu-manager-4-proprietary)",
    -34: "a profiler uses the counters",
    -36: "the GPU has no profiling counters",
    -37: "the module for profiling failed",
    -38: "the GPU cannot count all of these at once: choose fewer fields",
}
FUNCTION_NOT_FOUND = -20


class DcgmError(Exception):
    """A call that failed; the message says which and why."""

    def __init__(self, function: str, code: int) -> None:
        self.function, self.code = function, code
        super().__init__(f"{MEANINGS.get(code, f'error {code}')} ({function})")


class DcgmLibrary:
    """The loaded library; a missing symbol is an error like others."""

    def __init__(self, path: str = "") -> None:
        self._library = ctypes.CDLL(path) if path else _first()

    def call(self, name: str, *arguments: object) -> None:
        """Make a call, or raise DcgmError."""
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise DcgmError(name, FUNCTION_NOT_FOUND) from None
        code = function(*arguments)
        if code:
            raise DcgmError(name, code)


def _first() -> ctypes.CDLL:
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:  # noqa: PERF203 - the next version may be there
            continue
    raise OSError(f"none of {', '.join(NAMES)} is installed")
