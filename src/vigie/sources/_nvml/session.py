"""One opening of the driver: library, GPUs and event set."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import byref, c_uint, c_ulonglong
from typing import Callable

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import NvmlGpu, read_text
from vigie.sources._nvml.library import NvmlError, NvmlLibrary

MAX_GPUS = 64
MAX_EVENTS = 64  # per read


class DriverTooOldError(Exception):
    """The driver lacks a required function; the message says which."""


class NvmlSession:
    """The driver between nvmlInit and nvmlShutdown."""

    def __init__(self, path: str) -> None:
        self.library = NvmlLibrary(path)
        self.gpus: list[NvmlGpu] = []
        self.unidentified: dict[int, NvmlError] = {}  # GPUs that could not be identified
        self._event_set = ctypes.c_void_p()
        try:
            self._open()
        except (NvmlError, DriverTooOldError):
            self.library.close()  # the next driver's library could not be loaded next to it
            raise

    def _open(self) -> None:
        if not self.library.has("nvmlInit_v2"):
            raise DriverTooOldError("driver too old: its library has no nvmlInit_v2")
        self.library.call("nvmlInit_v2")
        try:
            self.driver = read_text(self.library, "nvmlSystemGetDriverVersion", None, 80)
            self._find_gpu()
            self._listen()
        except NvmlError:
            self._try(lambda: self.library.call("nvmlShutdown"))
            raise

    def _find_gpu(self) -> None:
        count = c_uint()
        self.library.call("nvmlDeviceGetCount_v2", byref(count))
        for index in range(min(count.value, MAX_GPUS)):
            handle = ctypes.c_void_p()
            try:
                self.library.call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
                gpu = NvmlGpu(self.library, index, handle, self.driver)
                gpu.find_instances()
            except NvmlError as error:
                self.unidentified[index] = error
            else:
                self.gpus.append(gpu)

    def _listen(self) -> None:
        try:
            self.library.call("nvmlEventSetCreate", byref(self._event_set))
        except NvmlError:
            return  # XIDs are in the kernel log, too
        for gpu in self.gpus:
            try:
                gpu.call("nvmlDeviceRegisterEvents", c_ulonglong(abi.XID_EVENT), self._event_set)
            except NvmlError as error:  # noqa: PERF203 - it costs only this GPU
                gpu.unsupported["events"] = str(error)

    def xids(self) -> Iterator[tuple[NvmlGpu, int]]:
        """Yield pending XIDs without waiting."""
        event = abi.EventData()
        for _ in range(MAX_EVENTS if self._event_set else 0):
            try:
                self.library.call("nvmlEventSetWait_v2", self._event_set, byref(event), c_uint(0))
            except NvmlError:
                return  # none pending, or a GPU is gone, which its own reading reports
            for gpu in self.gpus:
                if gpu.handle.value == event.device and event.eventType == abi.XID_EVENT:
                    yield gpu, event.eventData

    def close(self) -> None:
        """Close every handle, as far as the driver still can."""
        for gpu in self.gpus:
            for pair in gpu.cache.pop("pairs", {}).values():
                self._try(pair.free)
        if self._event_set:
            self._try(lambda: self.library.call("nvmlEventSetFree", self._event_set))
        self._try(lambda: self.library.call("nvmlShutdown"))
        self.library.close()

    def _try(self, closing: Callable[[], object]) -> None:
        try:
            closing()
        except NvmlError:
            pass
