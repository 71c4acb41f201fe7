"""Structures and constants of NVML's ABI. A test compares them with the published ones."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_double, c_int, c_longlong, c_uint, c_ulonglong, c_ushort, c_void_p

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
VERSIONS_DIFFER = 18
ARGUMENT_VERSION = 25
GPU_NOT_FOUND = 28

XID_EVENT = 8
EVERY_LINK = 0xFFFFFFFF
NO_INSTANCE = 0xFFFFFFFF
NOT_AVAILABLE = 0xFFFFFFFFFFFFFFFF
MAX_LINKS = 36
MAX_GPM_METRICS = 477
CLOCK_SM, CLOCK_MEMORY = 1, 2
SLOWDOWN = 1


class NvmlMemory(ctypes.Structure):
    """Memory, before driver 510. Used includes what the driver reserves."""

    _fields_ = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]


class Memory2(ctypes.Structure):
    """Memory, from driver 510."""

    _fields_ = [
        ("version", c_uint),
        ("total", c_ulonglong),
        ("reserved", c_ulonglong),
        ("free", c_ulonglong),
        ("used", c_ulonglong),
    ]


class Utilization(ctypes.Structure):
    """Percent of time with a running kernel, and with memory reads or writes."""

    _fields_ = [("gpu", c_uint), ("memory", c_uint)]


class PciInfo(ctypes.Structure):
    """PCI location."""

    _fields_ = [
        ("busIdLegacy", c_char * 16),
        ("domain", c_uint),
        ("bus", c_uint),
        ("device", c_uint),
        ("pciDeviceId", c_uint),
        ("pciSubSystemId", c_uint),
        ("busId", c_char * 32),
    ]


class NvmlValue(ctypes.Union):
    """A number; its type is in another field."""

    _fields_ = [
        ("dVal", c_double),
        ("siVal", c_int),
        ("uiVal", c_uint),
        ("ullVal", c_ulonglong),
        ("sllVal", c_longlong),
        ("usVal", c_ushort),
    ]


class NvmlFieldValue(ctypes.Structure):
    """One of several numbers read in one call."""

    _fields_ = [
        ("fieldId", c_uint),
        ("scopeId", c_uint),
        ("timestamp", c_longlong),
        ("latencyUsec", c_longlong),
        ("valueType", c_uint),
        ("nvmlReturn", c_uint),
        ("value", NvmlValue),
    ]


class Process1(ctypes.Structure):
    """A process, in old drivers."""

    _fields_ = [("pid", c_uint), ("usedGpuMemory", c_ulonglong)]


class Process2(ctypes.Structure):
    """A process and its MIG instance."""

    _fields_ = [
        ("pid", c_uint),
        ("usedGpuMemory", c_ulonglong),
        ("gpuInstanceId", c_uint),
        ("computeInstanceId", c_uint),
    ]


class ProcessUse(ctypes.Structure):
    """How much of a GPU a process had in the last sampling period, in percent."""

    _fields_ = [
        ("pid", c_uint),
        ("timeStamp", c_ulonglong),
        ("smUtil", c_uint),
        ("memUtil", c_uint),
        ("encUtil", c_uint),
        ("decUtil", c_uint),
    ]


class EventData(ctypes.Structure):
    """An event of a GPU."""

    _fields_ = [
        ("device", c_void_p),
        ("eventType", c_ulonglong),
        ("eventData", c_ulonglong),
        ("gpuInstanceId", c_uint),
        ("computeInstanceId", c_uint),
    ]


class FabricInfo2(ctypes.Structure):
    """State of the GPU in an NVLink fabric."""

    _fields_ = [
        ("version", c_uint),
        ("clusterUuid", c_char * 16),
        ("status", c_uint),
        ("cliqueId", c_uint),
        ("state", ctypes.c_ubyte),
        ("healthMask", c_uint),
    ]


class GpmSupport(ctypes.Structure):
    """nvmlGpmSupport_t."""

    _fields_ = (("version", c_uint), ("isSupportedDevice", c_uint))


class GpmMetric(ctypes.Structure):
    """One profiling metric between two samples."""

    _fields_ = [
        ("metricId", c_uint),
        ("nvmlReturn", c_uint),
        ("value", c_double),
        ("metricInfo", c_void_p * 3),
    ]


class GpmMetricsGet(ctypes.Structure):
    """Wanted metrics. The driver reads as many entries as the header says, whatever its own limit."""

    _fields_ = [
        ("version", c_uint),
        ("numMetrics", c_uint),
        ("sample1", c_void_p),
        ("sample2", c_void_p),
        ("metrics", GpmMetric * MAX_GPM_METRICS),
    ]


class LicenseExpiry(ctypes.Structure):
    """Expiry of a license."""

    _fields_ = [
        ("year", c_uint),
        *((part, c_ushort) for part in ("month", "day", "hour", "min", "sec")),
        ("status", ctypes.c_ubyte),
    ]


class LicensableFeature(ctypes.Structure):
    """A licensable vGPU feature."""

    _fields_ = [
        ("featureCode", c_uint),
        ("featureState", c_uint),
        ("licenseInfo", c_char * 128),
        ("productName", c_char * 128),
        ("featureEnabled", c_uint),
        ("licenseExpiry", LicenseExpiry),
    ]


class LicensableFeatures(ctypes.Structure):
    """All licensable vGPU features."""

    _fields_ = [
        ("isGridLicenseSupported", c_int),
        ("licensableFeaturesCount", c_uint),
        ("gridLicensableFeatures", LicensableFeature * 3),
    ]


def struct_version(structure: type[ctypes.Structure], number: int) -> int:
    """Return the version number of a structure."""
    return ctypes.sizeof(structure) | number << 24
