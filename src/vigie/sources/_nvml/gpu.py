"""One GPU, or one MIG instance of it: its handle, its names, and what it was found not to support."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref, c_uint, c_ulonglong
from typing import Any, NamedTuple

from vigie.model import Metric
from vigie.sources._nvml import abi
from vigie.sources._nvml.library import NvmlError, NvmlLibrary

# What a driver will not learn while it is loaded.
FOR_GOOD = (abi.NOT_SUPPORTED, abi.FUNCTION_NOT_FOUND, abi.ARGUMENT_VERSION)
LOST = (abi.GPU_IS_LOST, abi.RESET_REQUIRED, abi.GPU_NOT_FOUND)

Series = tuple[Metric, tuple[str, ...]]
Columns = tuple[list[Metric], list[tuple[str, ...]]]

MOST_LABELS = 1024  # sets of label values that are kept
HOST_LABEL = "Hostname"
# As dcgm-exporter orders them; those of MIG are empty, which is none, on a whole GPU.
DCGM = (
    *("gpu", "UUID", "pci_bus_id", "device", "modelName", "GPU_I_PROFILE", "GPU_I_ID", HOST_LABEL),
    "DCGM_FI_DRIVER_VERSION",
)


class GpuPart(NamedTuple):
    """One MIG instance."""

    handle: ctypes.c_void_p
    uuid: str
    profile: str
    instance: int


class FieldRows:
    """Series that are read together: of each its metric, and the labels behind those that every GPU has."""

    def __init__(self, rows: Iterable[tuple[Metric, tuple[str, ...]]]) -> None:
        self.rows = tuple(rows)
        self.metrics = tuple(dict.fromkeys(metric for metric, _ in self.rows))


class NvmlGpu:
    """A GPU as it was found when the driver was opened."""

    def __init__(self, library: NvmlLibrary, index: int, handle: ctypes.c_void_p, driver: str) -> None:
        self.library, self.index, self.handle, self.driver = library, index, handle, driver
        self.name = text(library, "nvmlDeviceGetName", handle, 96)
        self.uuid = text(library, "nvmlDeviceGetUUID", handle, 96)
        self.pci = self._pci()
        self.parts: tuple[GpuPart, ...] = ()
        self.lost = ""  # why nothing can be asked of it
        self.last_xid = 0
        self.memory: dict[str, Any] = {}  # what readers keep between two reads
        self.series: dict[tuple[FieldRows, str], Columns] = {}  # with all their labels
        self._answer, self._long_answer = c_uint(), c_ulonglong()
        self._place, self._long_place = byref(self._answer), byref(self._long_answer)
        self._labels: dict[tuple[str, tuple[str, ...], str | None], tuple[str, ...]] = {}
        self.missing: dict[str, str] = {}  # what it does not support, with the reason
        # The same, by call and by what it asks for.
        self._unsupported: dict[str, dict[tuple[int, ...], str]] = {}

    def ask(self, function: str, *arguments: object) -> None:
        """Make a call on this GPU, unless it is known not to be supported."""
        unsupported = self._unsupported.get(function)
        if unsupported and (known := unsupported.get(_asked(arguments))):
            raise UnsupportedError(function, known)
        try:
            self.library.call(function, self.handle, *arguments)
        except NvmlError as error:
            if error.code in FOR_GOOD:
                self._unsupported.setdefault(function, {})[_asked(arguments)] = str(error)
            raise

    def number(self, function: str, *arguments: object) -> int:
        """Return the one number that a call gives."""
        # One place for all: while a call is under way on this GPU, no other is made.
        self.ask(function, *arguments, self._place)
        return self._answer.value

    def long(self, function: str, *arguments: object) -> int:
        """Return the one long number that a call gives."""
        self.ask(function, *arguments, self._long_place)
        return self._long_answer.value

    def labels(
        self, metric: Metric, node: str, extra: tuple[str, ...] = (), part: GpuPart | None = None
    ) -> tuple[str, ...]:
        """Return the values of a metric's labels: those that every series of this GPU has, and its own."""
        key = metric.labels[1], extra, part and part.uuid
        found = self._labels.get(key)
        if found is None:
            if len(self._labels) > MOST_LABELS:  # processes come and go
                self._labels.clear()
            found = self._labels[key] = (*self._usual(metric, node, part), *extra)
        return found

    def _usual(self, metric: Metric, node: str, part: GpuPart | None) -> tuple[str, ...]:
        if metric.labels[1] != "UUID":
            return str(self.index), self.uuid, "nvidia", self.name
        profile, instance = (part.profile, str(part.instance)) if part else ("", "")
        index = str(self.index)
        # As dcgm-exporter: an instance carries the identity of its GPU.
        identity = (index, self.uuid, self.pci, f"nvidia{index}", self.name)
        return (*identity, profile, instance, node, self.driver)

    def look_for_parts(self) -> None:
        """Find the MIG instances there are now."""
        current, pending = c_uint(), c_uint()
        try:
            self.ask("nvmlDeviceGetMigMode", byref(current), byref(pending))
        except NvmlError as error:
            self.parts = ()
            if error.code not in FOR_GOOD:
                raise
            return
        slots = self.number("nvmlDeviceGetMaxMigDeviceCount") if current.value else 0
        self.parts = tuple(filter(None, map(self._part, range(slots))))

    def _part(self, slot: int) -> GpuPart | None:
        handle, instance = ctypes.c_void_p(), c_uint()
        try:
            self.library.call("nvmlDeviceGetMigDeviceHandleByIndex", self.handle, slot, byref(handle))
        except NvmlError as error:
            if error.code in (abi.NOT_FOUND, *FOR_GOOD):
                return None
            raise
        self.library.call("nvmlDeviceGetGpuInstanceId", handle, byref(instance))
        name = text(self.library, "nvmlDeviceGetName", handle, 96)
        uuid = text(self.library, "nvmlDeviceGetUUID", handle, 96)
        return GpuPart(handle, uuid, name.rpartition(" ")[2], instance.value)

    def _pci(self) -> str:
        info = abi.PciInfo()
        self.library.call("nvmlDeviceGetPciInfo_v3", self.handle, byref(info))
        return str(info.busId.decode(errors="replace"))


def _asked(arguments: tuple[object, ...]) -> tuple[int, ...]:
    """Return what of the arguments says what is asked for, which is not where to write it."""
    return tuple(argument for argument in arguments if isinstance(argument, int))


class UnsupportedError(NvmlError):
    """A call that is not made, because it was found not to be supported."""

    def __init__(self, function: str, reason: str) -> None:
        Exception.__init__(self, reason)
        self.function, self.code = function, abi.NOT_SUPPORTED


def text(library: NvmlLibrary, function: str, handle: ctypes.c_void_p | None, size: int) -> str:
    """Return the text that a call gives, of a device or of the system."""
    answer = ctypes.create_string_buffer(size)
    first: Sequence[object] = () if handle is None else (handle,)
    library.call(function, *first, answer, c_uint(size))
    return answer.value.decode(errors="replace")
