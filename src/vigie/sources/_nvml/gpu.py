"""One GPU or MIG instance: handle, labels, and unsupported calls."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref, c_uint, c_ulonglong
from typing import Any, NamedTuple

from vigie.model import Metric
from vigie.sources._nvml import abi
from vigie.sources._nvml.library import NvmlError, NvmlLibrary

# Permanent while the driver is loaded.
PERMANENT_ERRORS = (abi.NOT_SUPPORTED, abi.FUNCTION_NOT_FOUND, abi.ARGUMENT_VERSION)
LOST = (abi.GPU_IS_LOST, abi.RESET_REQUIRED, abi.GPU_NOT_FOUND)

Series = tuple[Metric, tuple[str, ...]]
Columns = tuple[list[Metric], list[tuple[str, ...]]]

MAX_LABEL_SETS = 1024  # cached sets of label values
HOST_LABEL = "Hostname"
# dcgm-exporter's order. MIG labels are empty, hence omitted, on a whole GPU.
DCGM = (
    *("gpu", "UUID", "pci_bus_id", "device", "modelName", "GPU_I_PROFILE", "GPU_I_ID", HOST_LABEL),
    "DCGM_FI_DRIVER_VERSION",
)


class GpuPart(NamedTuple):
    handle: ctypes.c_void_p
    uuid: str
    profile: str
    instance: int


class FieldRows:
    """Series read together: metric and additional labels of each."""

    def __init__(self, rows: Iterable[tuple[Metric, tuple[str, ...]]]) -> None:
        self.rows = tuple(rows)
        self.metrics = tuple(dict.fromkeys(metric for metric, _ in self.rows))


class NvmlGpu:
    """A GPU as found when the driver was opened."""

    def __init__(self, library: NvmlLibrary, index: int, handle: ctypes.c_void_p, driver: str) -> None:
        self.library, self.index, self.handle, self.driver = library, index, handle, driver
        self.name = read_text(library, "nvmlDeviceGetName", handle, 96)
        self.uuid = read_text(library, "nvmlDeviceGetUUID", handle, 96)
        self.pci = self._read_pci()
        self.parts: tuple[GpuPart, ...] = ()
        self.lost = ""  # reason why it cannot be read
        self.last_xid = 0
        self.cache: dict[str, Any] = {}  # state of readers between reads
        self.series: dict[tuple[FieldRows, str], Columns] = {}  # with all labels
        self._buffer, self._long_buffer = c_uint(), c_ulonglong()
        self._buffer_ref, self._long_buffer_ref = byref(self._buffer), byref(self._long_buffer)
        self._labels: dict[tuple[str, tuple[str, ...], str | None], tuple[str, ...]] = {}
        self.unsupported: dict[str, str] = {}  # unsupported calls, with reasons
        # The same by call and arguments.
        self._unsupported: dict[str, dict[tuple[int, ...], str]] = {}

    def call(self, function: str, *arguments: object) -> None:
        """Call a function for this GPU, unless it is known to be unsupported."""
        unsupported = self._unsupported.get(function)
        if unsupported and (known := unsupported.get(_select_arguments(arguments))):
            raise UnsupportedError(function, known)
        try:
            self.library.call(function, self.handle, *arguments)
        except NvmlError as error:
            if error.code in PERMANENT_ERRORS:
                self._unsupported.setdefault(function, {})[_select_arguments(arguments)] = str(error)
            raise

    def read_int(self, function: str, *arguments: object) -> int:
        """Return the integer result of a call."""
        # One buffer for all: a GPU has only one call at a time.
        self.call(function, *arguments, self._buffer_ref)
        return self._buffer.value

    def read_long(self, function: str, *arguments: object) -> int:
        """Return the long integer result of a call."""
        self.call(function, *arguments, self._long_buffer_ref)
        return self._long_buffer.value

    def labels(
        self, metric: Metric, node: str, extra: tuple[str, ...] = (), part: GpuPart | None = None
    ) -> tuple[str, ...]:
        """Return all label values of a series: the GPU's, then its own."""
        key = metric.labels[1], extra, part and part.uuid
        found = self._labels.get(key)
        if found is None:
            if len(self._labels) > MAX_LABEL_SETS:  # processes come and go
                self._labels.clear()
            found = self._labels[key] = (*self._common_labels(metric, node, part), *extra)
        return found

    def _common_labels(self, metric: Metric, node: str, part: GpuPart | None) -> tuple[str, ...]:
        if metric.labels[1] != "UUID":
            return str(self.index), self.uuid, "nvidia", self.name
        profile, instance = (part.profile, str(part.instance)) if part else ("", "")
        index = str(self.index)
        # As dcgm-exporter: an instance has the identity of its GPU.
        identity = (index, self.uuid, self.pci, f"nvidia{index}", self.name)
        return (*identity, profile, instance, node, self.driver)

    def find_instances(self) -> None:
        current, pending = c_uint(), c_uint()
        try:
            self.call("nvmlDeviceGetMigMode", byref(current), byref(pending))
        except NvmlError as error:
            self.parts = ()
            if error.code not in PERMANENT_ERRORS:
                raise
            return
        slots = self.read_int("nvmlDeviceGetMaxMigDeviceCount") if current.value else 0
        self.parts = tuple(filter(None, map(self._read_instance, range(slots))))

    def _read_instance(self, slot: int) -> GpuPart | None:
        handle, instance = ctypes.c_void_p(), c_uint()
        try:
            self.library.call("nvmlDeviceGetMigDeviceHandleByIndex", self.handle, slot, byref(handle))
        except NvmlError as error:
            if error.code in (abi.NOT_FOUND, *PERMANENT_ERRORS):
                return None
            raise
        self.library.call("nvmlDeviceGetGpuInstanceId", handle, byref(instance))
        name = read_text(self.library, "nvmlDeviceGetName", handle, 96)
        uuid = read_text(self.library, "nvmlDeviceGetUUID", handle, 96)
        return GpuPart(handle, uuid, name.rpartition(" ")[2], instance.value)

    def _read_pci(self) -> str:
        info = abi.PciInfo()
        self.library.call("nvmlDeviceGetPciInfo_v3", self.handle, byref(info))
        return str(info.busId.decode(errors="replace"))


def _select_arguments(arguments: tuple[object, ...]) -> tuple[int, ...]:
    """Return the arguments that select data, without output buffers."""
    return tuple(argument for argument in arguments if isinstance(argument, int))


class UnsupportedError(NvmlError):
    """A call that is skipped because it is unsupported."""

    def __init__(self, function: str, reason: str) -> None:
        Exception.__init__(self, reason)
        self.function, self.code = function, abi.NOT_SUPPORTED


def read_text(library: NvmlLibrary, function: str, handle: ctypes.c_void_p | None, size: int) -> str:
    """Return the string result of a call, for a device or the system."""
    answer = ctypes.create_string_buffer(size)
    first: Sequence[object] = () if handle is None else (handle,)
    library.call(function, *first, answer, c_uint(size))
    return answer.value.decode(errors="replace")
