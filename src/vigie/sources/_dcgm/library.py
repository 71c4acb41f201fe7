"""Calls into libdcgm.so, with the function name in errors."""

from __future__ import annotations

import ctypes

NAMES = ("libdcgm.so.4", "libdcgm.so.3", "libdcgm.so")
MEANINGS = {
    -1: "invalid argument",
    -3: "unspecified error",
    -6: "not supported",
    -7: "DCGM cannot be initialized",
    -8: "rejected by the driver",
    -10: "connection closed",
    -11: "timed out",
    -12: "structure version mismatch",
    -14: "no data yet",
    -16: "not watched",
    -17: "no permission: the host engine must run as root",
    -18: "the GPU has fallen off the bus",
    -19: "GPU requires reset",
    -20: "missing in this version of DCGM",
    -21: "no host engine",
    -22: "not supported by this GPU",
    -25: "a library required by DCGM is missing",
    -29: "the host engine must run as root",
    -33: "the engine has no profiling module (package datacenter-gpu-manager-4-proprietary)",
    -34: "counters are in use by a profiler",
    -36: "the GPU has no profiling counters",
    -37: "the profiling module failed",
    -38: "too many fields for this GPU: select fewer",
}
FUNCTION_NOT_FOUND = -20


class DcgmError(Exception):
    """A call that failed; the message has the function and reason."""

    def __init__(self, function: str, code: int) -> None:
        self.function, self.code = function, code
        super().__init__(f"{MEANINGS.get(code, f'error {code}')} ({function})")


class DcgmLibrary:
    """The loaded library. A missing symbol raises the same error as a failing call."""

    def __init__(self, path: str = "") -> None:
        self._library = ctypes.CDLL(path) if path else _load_first()

    def call(self, name: str, *arguments: object) -> None:
        """Call a function, or raise DcgmError."""
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise DcgmError(name, FUNCTION_NOT_FOUND) from None
        code = function(*arguments)
        if code:
            raise DcgmError(name, code)


def _load_first() -> ctypes.CDLL:
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:  # noqa: PERF203 - the next version may be there
            continue
    raise OSError(f"none of {', '.join(NAMES)} is installed")
