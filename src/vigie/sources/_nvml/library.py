"""Calls into libnvidia-ml.so.1, each with its name in the error, none keeping the driver for long."""

from __future__ import annotations

import _ctypes
import ctypes
import time
from typing import Any

from vigie.sources._nvml import abi

# The driver has one lock for everybody: after so long in it, others get their turn.
STRETCH = 0.0025
TURN = 0.002

MEANINGS = {
    abi.UNINITIALIZED: "the library was not initialised",
    2: "an argument is not valid",
    abi.NOT_SUPPORTED: "not supported by this GPU",
    abi.NO_PERMISSION: "no permission",
    abi.NOT_FOUND: "not found",
    abi.DRIVER_NOT_LOADED: "the driver is not loaded",
    abi.TIMEOUT: "nothing within the time",
    abi.FUNCTION_NOT_FOUND: "the driver is too old for this call",
    abi.GPU_IS_LOST: "the GPU has fallen off the bus or cannot be reached",
    abi.RESET_REQUIRED: "the GPU has to be reset",
    17: "the operating system or cgroup refused it",
    abi.VERSIONS_DIFFER: "driver and library are of different versions",
    21: "there are no data",
    abi.ARGUMENT_VERSION: "the driver is too old for this structure",
    abi.GPU_NOT_FOUND: "the GPU is gone",
    999: "the driver cannot say why",
}


class NvmlError(Exception):
    """A call that failed; the message says which and why."""

    def __init__(self, function: str, code: int) -> None:
        self.function, self.code = function, code
        super().__init__(f"{MEANINGS.get(code, f'error {code}')} ({function})")


class NvmlLibrary:
    """The loaded library; a missing symbol is an error like others."""

    def __init__(self, path: str) -> None:
        self._library: ctypes.CDLL | None = ctypes.CDLL(path)
        self._functions: dict[str, Any] = {}
        self._began = self._ended = 0.0

    def call(self, name: str, *arguments: object) -> None:
        """Make a call, or raise NvmlError."""
        function = self._functions.get(name) or self._found(name)
        now = time.perf_counter()
        if now - self._ended > TURN / 2:
            self._began = now
        elif self._ended - self._began > STRETCH:
            time.sleep(TURN)
            self._began = time.perf_counter()
        code = function(*arguments)
        self._ended = time.perf_counter()
        if code:
            raise NvmlError(name, code)

    def rest(self) -> None:
        """Let others have the driver before a call that takes long."""
        if time.perf_counter() - self._ended < TURN / 2:
            time.sleep(TURN)

    def has(self, name: str) -> bool:
        """Tell whether the driver knows a call."""
        return hasattr(self._library, name)

    def close(self) -> None:
        """Unload the library, so that another version of it can be loaded."""
        library, self._library = self._library, None
        self._functions.clear()
        if library:
            _ctypes.dlclose(library._handle)

    def _found(self, name: str) -> Any:
        if self._library is None:
            raise NvmlError(name, abi.UNINITIALIZED)
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise NvmlError(name, abi.FUNCTION_NOT_FOUND) from None
        self._functions[name] = function
        return function
