"""Calls into libnvidia-ml.so.1, with the function name in errors, and pauses for other users."""

from __future__ import annotations

import _ctypes
import ctypes
import time
from typing import Any

from vigie.sources._nvml import abi

# The driver has one global lock: after this long in it, yield to other users.
MAX_BUSY_SECONDS = 0.0025
YIELD_SECONDS = 0.002

MEANINGS = {
    abi.UNINITIALIZED: "library not initialized",
    2: "invalid argument",
    abi.NOT_SUPPORTED: "not supported by this GPU",
    abi.NO_PERMISSION: "no permission",
    abi.NOT_FOUND: "not found",
    abi.DRIVER_NOT_LOADED: "driver not loaded",
    abi.TIMEOUT: "timed out",
    abi.FUNCTION_NOT_FOUND: "driver too old for this call",
    abi.GPU_IS_LOST: "GPU has fallen off the bus or is inaccessible",
    abi.RESET_REQUIRED: "GPU requires reset",
    17: "blocked by the operating system or cgroup",
    abi.VERSIONS_DIFFER: "driver and library versions differ",
    21: "no data",
    abi.ARGUMENT_VERSION: "driver too old for this structure",
    abi.GPU_NOT_FOUND: "GPU not found",
    999: "unknown error",
}


class NvmlError(Exception):
    """A call that failed; the message has the function and reason."""

    def __init__(self, function: str, code: int) -> None:
        self.function, self.code = function, code
        super().__init__(f"{MEANINGS.get(code, f'error {code}')} ({function})")


class NvmlLibrary:
    """The loaded library. A missing symbol raises the same error as a failing call."""

    def __init__(self, path: str) -> None:
        self._library: ctypes.CDLL | None = ctypes.CDLL(path)
        self._functions: dict[str, Any] = {}
        self._busy_since = self._busy_until = 0.0

    def call(self, name: str, *arguments: object) -> None:
        """Call a function, or raise NvmlError."""
        function = self._functions.get(name) or self._find_function(name)
        now = time.perf_counter()
        if now - self._busy_until > YIELD_SECONDS / 2:
            self._busy_since = now
        elif self._busy_until - self._busy_since > MAX_BUSY_SECONDS:
            time.sleep(YIELD_SECONDS)
            self._busy_since = time.perf_counter()
        code = function(*arguments)
        self._busy_until = time.perf_counter()
        if code:
            raise NvmlError(name, code)

    def yield_driver(self) -> None:
        """Yield the driver to other users before a long call."""
        if time.perf_counter() - self._busy_until < YIELD_SECONDS / 2:
            time.sleep(YIELD_SECONDS)

    def has(self, name: str) -> bool:
        return hasattr(self._library, name)

    def close(self) -> None:
        """Unload the library, so that another version can be loaded."""
        library, self._library = self._library, None
        self._functions.clear()
        if library:
            _ctypes.dlclose(library._handle)

    def _find_function(self, name: str) -> Any:
        if self._library is None:
            raise NvmlError(name, abi.UNINITIALIZED)
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise NvmlError(name, abi.FUNCTION_NOT_FOUND) from None
        self._functions[name] = function
        return function
