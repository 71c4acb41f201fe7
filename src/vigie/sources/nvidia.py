"""NVIDIA GPUs through NVML, at every tick: utilization, memory, power, clocks, temperatures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ctypes import byref, c_uint

from vigie.model import Metric, Sample, counter, gauge
from vigie.model.node import normalize_pci_bus_id
from vigie.sources import _gpu
from vigie.sources._nvml import abi, fields
from vigie.sources._nvml.driver import NvmlDriver
from vigie.sources._nvml.fields import MAX_CELSIUS, FieldRow
from vigie.sources._nvml.gpu import DCGM, FieldRows, NvmlGpu
from vigie.sources._nvml.memory import MemoryAmounts, read_memory
from vigie.sources._nvml.samples import (
    FixedSeries,
    GpuReader,
    GpuReading,
    SampleBlockCache,
    Value,
    build_fixed_series,
    get_driver,
    read_all,
    read_one,
    read_samples,
    report_lost,
)
from vigie.sources.core.driver import GpuDriver
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.xids import describe_xid, find_xid, get_severity

METRICS = (
    *(_gpu.INFO, _gpu.BUSY, _gpu.MEMORY_BUSY, _gpu.MEMORY_USED, _gpu.MEMORY_TOTAL, _gpu.POWER),
    *(_gpu.TEMPERATURE, _gpu.MEMORY_TEMPERATURE, _gpu.CLOCK, _gpu.MEMORY_CLOCK, _gpu.THROTTLED),
    SM_CLOCK := gauge("DCGM_FI_DEV_SM_CLOCK", "SM clock in MHz.", *DCGM),
    MEM_CLOCK := gauge("DCGM_FI_DEV_MEM_CLOCK", "Memory clock in MHz.", *DCGM),
    MEMORY_TEMP := gauge("DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature in degrees Celsius.", *DCGM),
    GPU_TEMP := gauge("DCGM_FI_DEV_GPU_TEMP", "GPU temperature in degrees Celsius.", *DCGM),
    POWER_USAGE := gauge("DCGM_FI_DEV_POWER_USAGE", "Power draw in W.", *DCGM),
    ENERGY := counter(
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Energy used since the driver was loaded, in mJ.", *DCGM
    ),
    GPU_UTIL := gauge("DCGM_FI_DEV_GPU_UTIL", "Percent of time with a running kernel.", *DCGM),
    MEM_COPY_UTIL := gauge(
        "DCGM_FI_DEV_MEM_COPY_UTIL", "Percent of time with memory reads or writes.", *DCGM
    ),
    ENC_UTIL := gauge("DCGM_FI_DEV_ENC_UTIL", "Encoder utilization in percent.", *DCGM),
    DEC_UTIL := gauge("DCGM_FI_DEV_DEC_UTIL", "Decoder utilization in percent.", *DCGM),
    XID_ERRORS := gauge(
        "DCGM_FI_DEV_XID_ERRORS",
        "Last XID since the driver was opened, 0 if none. See the events.",
        *DCGM,
        "err_code",
        "err_msg",
    ),
    FB_FREE := gauge("DCGM_FI_DEV_FB_FREE", "Free memory in MiB.", *DCGM),
    FB_USED := gauge("DCGM_FI_DEV_FB_USED", "Used memory in MiB.", *DCGM),
    FB_RESERVED := gauge("DCGM_FI_DEV_FB_RESERVED", "Memory reserved by the driver in MiB.", *DCGM),
    FB_TOTAL := gauge("DCGM_FI_DEV_FB_TOTAL", "Total memory in MiB.", *DCGM),
    FB_USED_PERCENT := gauge("DCGM_FI_DEV_FB_USED_PERCENT", "Share of used memory, 0 to 1.", *DCGM),
    NVLINK_BANDWIDTH := counter(
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "Rate over all NVLinks, both directions, in MB/s. A rate, although DCGM declares a counter.",
        *DCGM,
    ),
    EVENT_REASONS := gauge("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "Throttle reasons, as a bit mask.", *DCGM),
    PSTATE := gauge("DCGM_FI_DEV_PSTATE", "Performance state; 0 is the fastest.", *DCGM),
    POWER_VIOLATION := counter(
        "DCGM_FI_DEV_POWER_VIOLATION", "Time throttled by the power limit in ns.", *DCGM
    ),
    THERMAL_VIOLATION := counter(
        "DCGM_FI_DEV_THERMAL_VIOLATION", "Time throttled by temperature in ns.", *DCGM
    ),
    SYNC_BOOST_VIOLATION := counter(
        "DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "Time throttled by sync boost in ns.", *DCGM
    ),
    BOARD_LIMIT_VIOLATION := counter(
        "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "Time throttled by the board limit in ns.", *DCGM
    ),
    LOW_UTIL_VIOLATION := counter(
        "DCGM_FI_DEV_LOW_UTIL_VIOLATION", "Time at low clocks because of low utilization in ns.", *DCGM
    ),
    RELIABILITY_VIOLATION := counter(
        "DCGM_FI_DEV_RELIABILITY_VIOLATION", "Time throttled by the reliability limit in ns.", *DCGM
    ),
    PCIE_SENT := counter("vigie_gpu_pcie_transmit_bytes_total", "Bytes sent over PCIe.", *_gpu.GPU),
    PCIE_RECEIVED := counter("vigie_gpu_pcie_receive_bytes_total", "Bytes received over PCIe.", *_gpu.GPU),
)

FIELDS = (
    FieldRow(ENERGY, 83),
    FieldRow(POWER_VIOLATION, 74),
    FieldRow(THERMAL_VIOLATION, 75),
    FieldRow(SYNC_BOOST_VIOLATION, 76),
    FieldRow(BOARD_LIMIT_VIOLATION, 77),
    FieldRow(LOW_UTIL_VIOLATION, 78),
    FieldRow(RELIABILITY_VIOLATION, 79),
    FieldRow(PCIE_SENT, 197),
    FieldRow(PCIE_RECEIVED, 198),
)
# After the rows: memory temperature, and bytes over all NVLinks.
KEYS = (
    *((row.field, 0) for row in FIELDS),
    (fields.MEMORY_HEAT, 0),
    (138, abi.EVERY_LINK),
    (139, abi.EVERY_LINK),
)
# By bit: dcgm-exporter's names, and those of NVIDIA's header for the last two.
REASONS = (
    *("gpu_idle", "clocks_setting", "power_cap", "hw_slowdown", "sync_boost", "sw_thermal", "hw_thermal"),
    *("hw_power_brake", "display_clocks", "board_limit", "reliability"),
)
UNREPORTED = "drivers before 510 do not report it, and count it as used"
BITS = tuple(enumerate(REASONS))[1:]  # an idle GPU is not throttled
MEMORY = (FB_TOTAL, FB_FREE, FB_USED, FB_USED_PERCENT, FB_RESERVED)
OF_PARTS = FieldRows((metric, ()) for metric in MEMORY)


def read(host: Host) -> list[Sample]:
    """Return the fast metrics of every GPU, and report its events."""
    try:
        return read_samples(host, READERS, listen=True)
    finally:  # especially when no GPU can be read
        report_lost(host)
        _report_xids(host)


def _report_xids(host: Host) -> None:
    for gpu, xid in get_driver(host).xids():
        gpu.last_xid = xid
        host.report_event(
            "xid",
            describe_xid(xid),
            severity=get_severity(xid),
            xid=str(xid),
            gpu=str(gpu.index),
            uuid=gpu.uuid,
            pci_bus_id=normalize_pci_bus_id(gpu.pci),
        )


def _read_utilization(gpu: NvmlGpu) -> Sequence[Value]:
    answer = abi.Utilization()
    gpu.call("nvmlDeviceGetUtilizationRates", byref(answer))
    busy, memory = answer.gpu, answer.memory
    return busy, memory, busy / 100, memory / 100


def _read_memory(gpu: NvmlGpu) -> Sequence[Value]:
    whole = read_memory(gpu, gpu.handle)
    return *_convert_amounts(whole), whole.used, whole.total


def _read_instances(gpu: NvmlGpu) -> list[SampleBlockCache]:
    return [
        SampleBlockCache(OF_PARTS, _convert_amounts(read_memory(gpu, part.handle)), part)
        for part in gpu.parts
    ]


def _convert_amounts(amount: MemoryAmounts) -> tuple[Value, ...]:
    usable = amount.total - (amount.reserved or 0)
    return (
        *(amount.total >> 20, amount.free >> 20, amount.used >> 20),
        amount.used / usable if usable else "no memory",
        UNREPORTED if amount.reserved is None else amount.reserved >> 20,
    )


def _read_temperature(gpu: NvmlGpu) -> Sequence[Value]:
    return (_check_temperature(gpu.read_int("nvmlDeviceGetTemperature", 0)),) * 2


def _read_power(gpu: NvmlGpu) -> Sequence[Value]:
    return (gpu.read_int("nvmlDeviceGetPowerUsage") / 1000,) * 2


def _read_codec(metric: Metric, function: str) -> FixedSeries:
    def load(gpu: NvmlGpu) -> Sequence[Value]:
        percent, window = c_uint(), c_uint()
        gpu.call(function, byref(percent), byref(window))
        return (percent.value,)

    return build_fixed_series(load, metric)


def _read_reasons(gpu: NvmlGpu) -> Sequence[Value]:
    new = gpu.library.has("nvmlDeviceGetCurrentClocksEventReasons")
    mask = gpu.read_long(f"nvmlDeviceGetCurrentClocks{'Event' if new else 'Throttle'}Reasons")
    return [mask, *(mask >> bit & 1 for bit, _ in BITS)]


def _read_fields(gpu: NvmlGpu) -> Sequence[Value]:
    values, times = fields.read_fields(gpu, "tick", KEYS)
    heat, sent, received = values[-3:]
    heat = heat if isinstance(heat, str) else _check_temperature(heat)
    return [*values[:-3], heat, heat, _read_nvlink(gpu, sent, received, times[-2])]


def _read_nvlink(gpu: NvmlGpu, sent: Value, received: Value, time: int) -> Value:
    """Return the rate since the last read, by the driver's timestamps."""
    if isinstance(sent, str) or isinstance(received, str):
        return sent if isinstance(sent, str) else received
    kibibytes = sent + received
    before = gpu.cache.get("nvlink")
    gpu.cache["nvlink"] = kibibytes, time
    if before is None or time <= before[1] or kibibytes < before[0]:
        return "rates need two readings"
    return float((kibibytes - before[0]) / ((time - before[1]) / 1e6) / 1000)


def _check_temperature(degrees: float) -> Value:
    return f"invalid temperature {degrees:g}" if degrees > MAX_CELSIUS else degrees


def _read_identity(gpu: NvmlGpu) -> Iterator[GpuReading]:
    yield GpuReading(_gpu.INFO, 1, (gpu.pci, gpu.driver))
    if "events" in gpu.unsupported:
        yield GpuReading(XID_ERRORS, None, why=gpu.unsupported["events"])
    else:
        xid = gpu.last_xid
        yield GpuReading(XID_ERRORS, xid, (str(xid), find_xid(xid).name) if xid else ("", ""))


READERS = (
    GpuReader((_gpu.INFO, XID_ERRORS), _read_identity),
    read_all(
        build_fixed_series(_read_utilization, GPU_UTIL, MEM_COPY_UTIL, _gpu.BUSY, _gpu.MEMORY_BUSY),
        build_fixed_series(_read_memory, *MEMORY, _gpu.MEMORY_USED, _gpu.MEMORY_TOTAL),
        build_fixed_series(_read_temperature, GPU_TEMP, _gpu.TEMPERATURE),
        build_fixed_series(_read_power, POWER_USAGE, _gpu.POWER),
        read_one("nvmlDeviceGetClockInfo", (SM_CLOCK, 1), (_gpu.CLOCK, 1e6), arguments=(abi.CLOCK_SM,)),
        read_one(
            "nvmlDeviceGetClockInfo", (MEM_CLOCK, 1), (_gpu.MEMORY_CLOCK, 1e6), arguments=(abi.CLOCK_MEMORY,)
        ),
        _read_codec(ENC_UTIL, "nvmlDeviceGetEncoderUtilization"),
        _read_codec(DEC_UTIL, "nvmlDeviceGetDecoderUtilization"),
        build_fixed_series(
            _read_reasons, EVENT_REASONS, *((_gpu.THROTTLED, (reason,)) for _, reason in BITS)
        ),
        read_one("nvmlDeviceGetPerformanceState", (PSTATE, 1)),
        build_fixed_series(
            _read_fields,
            *(row.metric for row in FIELDS),
            *(MEMORY_TEMP, _gpu.MEMORY_TEMPERATURE, NVLINK_BANDWIDTH),
        ),
    ),
    GpuReader(MEMORY, _read_instances),
)

SOURCE = Source("nvidia", METRICS, read, slow=True)


def open_driver(library: str, node: str, host_label: str) -> GpuDriver:
    """Return the driver that all NVIDIA sources share; the library is loaded at the first read."""
    return NvmlDriver(library, node=node, host_label=host_label)
