"""NVIDIA GPUs by NVML, what is cheap to ask at every tick: load, memory, power, clocks, temperatures."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref, c_uint

from vigie.model import Metric, Sample, counter, gauge
from vigie.sources import _gpu
from vigie.sources._host import Host
from vigie.sources._nvml import abi, fields
from vigie.sources._nvml.asking import Found, Reader, driver_of, samples, tell_lost
from vigie.sources._nvml.fields import TOO_HOT, FieldRow
from vigie.sources._nvml.gpu import DCGM, Gpu
from vigie.sources._nvml.memory import memory_of
from vigie.sources._source import Source
from vigie.sources._xids import about, xid_severity, xid_text

METRICS = (
    *(_gpu.INFO, _gpu.BUSY, _gpu.MEMORY_BUSY, _gpu.MEMORY_USED, _gpu.MEMORY_TOTAL, _gpu.POWER),
    *(_gpu.TEMPERATURE, _gpu.MEMORY_TEMPERATURE, _gpu.CLOCK, _gpu.MEMORY_CLOCK, _gpu.THROTTLED),
    SM_CLOCK := gauge("DCGM_FI_DEV_SM_CLOCK", "Clock of the multiprocessors in MHz.", *DCGM),
    MEM_CLOCK := gauge("DCGM_FI_DEV_MEM_CLOCK", "Clock of the memory in MHz.", *DCGM),
    MEMORY_TEMP := gauge("DCGM_FI_DEV_MEMORY_TEMP", "Temperature of the memory in degrees Celsius.", *DCGM),
    GPU_TEMP := gauge("DCGM_FI_DEV_GPU_TEMP", "Temperature of the GPU in degrees Celsius.", *DCGM),
    POWER_USAGE := gauge("DCGM_FI_DEV_POWER_USAGE", "Power that the board draws in W.", *DCGM),
    ENERGY := counter(
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Energy used since the driver was loaded in mJ.", *DCGM
    ),
    GPU_UTIL := gauge("DCGM_FI_DEV_GPU_UTIL", "Percent of the time in which a kernel ran.", *DCGM),
    MEM_COPY_UTIL := gauge(
        "DCGM_FI_DEV_MEM_COPY_UTIL", "Percent of the time in which memory was read or written.", *DCGM
    ),
    ENC_UTIL := gauge("DCGM_FI_DEV_ENC_UTIL", "Load of the video encoder in percent.", *DCGM),
    DEC_UTIL := gauge("DCGM_FI_DEV_DEC_UTIL", "Load of the video decoder in percent.", *DCGM),
    XID_ERRORS := gauge(
        "DCGM_FI_DEV_XID_ERRORS",
        "Number of the last XID since the driver was opened, 0 before any; see the events.",
        *DCGM,
        "err_code",
        "err_msg",
    ),
    FB_FREE := gauge("DCGM_FI_DEV_FB_FREE", "Memory that is free in MiB.", *DCGM),
    FB_USED := gauge("DCGM_FI_DEV_FB_USED", "Memory that is used in MiB.", *DCGM),
    FB_RESERVED := gauge("DCGM_FI_DEV_FB_RESERVED", "Memory that the driver keeps in MiB.", *DCGM),
    FB_TOTAL := gauge("DCGM_FI_DEV_FB_TOTAL", "Memory that there is in MiB.", *DCGM),
    FB_USED_PERCENT := gauge(
        "DCGM_FI_DEV_FB_USED_PERCENT", "Share of the memory that is used, from 0 to 1.", *DCGM
    ),
    NVLINK_BANDWIDTH := counter(
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "Rate over all NVLinks, both ways, in MB/s; a rate although its convention says counter.",
        *DCGM,
    ),
    EVENT_REASONS := gauge(
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "Why clocks are not higher, as a mask of bits.", *DCGM
    ),
    PSTATE := gauge("DCGM_FI_DEV_PSTATE", "Performance state; 0 is the fastest.", *DCGM),
    POWER_VIOLATION := counter(
        "DCGM_FI_DEV_POWER_VIOLATION", "Time held back by the power limit in ns.", *DCGM
    ),
    THERMAL_VIOLATION := counter("DCGM_FI_DEV_THERMAL_VIOLATION", "Time held back by heat in ns.", *DCGM),
    SYNC_BOOST_VIOLATION := counter(
        "DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "Time held back to keep pace with other GPUs in ns.", *DCGM
    ),
    BOARD_LIMIT_VIOLATION := counter(
        "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "Time held back by the board's limit in ns.", *DCGM
    ),
    LOW_UTIL_VIOLATION := counter(
        "DCGM_FI_DEV_LOW_UTIL_VIOLATION", "Time at low clocks for want of work in ns.", *DCGM
    ),
    RELIABILITY_VIOLATION := counter(
        "DCGM_FI_DEV_RELIABILITY_VIOLATION", "Time held back for the sake of the board in ns.", *DCGM
    ),
    PCIE_SENT := counter("vigie_gpu_pcie_transmit_bytes_total", "Bytes that left by PCIe.", *_gpu.GPU),
    PCIE_RECEIVED := counter("vigie_gpu_pcie_receive_bytes_total", "Bytes that came by PCIe.", *_gpu.GPU),
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
SENT, RECEIVED, HEAT = (138, abi.EVERY_LINK), (139, abi.EVERY_LINK), (82, 0)
KEYS = (*((row.field, row.scope) for row in FIELDS), SENT, RECEIVED, HEAT)
# Bit by bit: the words of dcgm-exporter, and of NVIDIA's header for the last two.
REASONS = (
    *("gpu_idle", "clocks_setting", "power_cap", "hw_slowdown", "sync_boost", "sw_thermal", "hw_thermal"),
    *("hw_power_brake", "display_clocks", "board_limit", "reliability"),
)
IDLE = 1
MEMORY = (FB_TOTAL, FB_FREE, FB_USED, FB_USED_PERCENT, FB_RESERVED, _gpu.MEMORY_USED, _gpu.MEMORY_TOTAL)


def read(host: Host) -> Iterator[Sample]:
    """Yield what is cheap to ask of every GPU, and say what happened to them."""
    yield from samples(host, READERS)
    tell_lost(host)
    _tell_xids(host)


def _tell_xids(host: Host) -> None:
    for gpu, xid in driver_of(host).xids():
        gpu.last_xid = xid
        host.happened(
            "xid",
            xid_text(xid),
            severity=xid_severity(xid),
            xid=str(xid),
            gpu=str(gpu.index),
            uuid=gpu.uuid,
            pci_bus_id=_gpu.pci_bus_id(gpu.pci),
        )


def _load(gpu: Gpu) -> Iterator[Found]:
    answer = abi.Utilization()
    gpu.ask("nvmlDeviceGetUtilizationRates", byref(answer))
    yield Found(GPU_UTIL, answer.gpu)
    yield Found(MEM_COPY_UTIL, answer.memory)
    yield Found(_gpu.BUSY, answer.gpu / 100)
    yield Found(_gpu.MEMORY_BUSY, answer.memory / 100)


def _memory(gpu: Gpu) -> Iterator[Found]:
    whole = memory_of(gpu, gpu.handle)
    for part, amount in [(None, whole), *((part, memory_of(gpu, part.handle)) for part in gpu.parts)]:
        yield Found(FB_TOTAL, amount.total >> 20, part=part)
        yield Found(FB_FREE, amount.free >> 20, part=part)
        yield Found(FB_USED, amount.used >> 20, part=part)
        usable = amount.total - (amount.reserved or 0)
        yield Found(FB_USED_PERCENT, amount.used / usable if usable else None, part=part, why="no memory")
        if amount.reserved is None:
            why = "drivers before 510 do not tell it, and count it as used"
            yield Found(FB_RESERVED, None, why=why)
        else:
            yield Found(FB_RESERVED, amount.reserved >> 20, part=part)
    yield Found(_gpu.MEMORY_USED, whole.used)
    yield Found(_gpu.MEMORY_TOTAL, whole.total)


def _temperature(gpu: Gpu) -> Iterator[Found]:
    degrees = gpu.number("nvmlDeviceGetTemperature", 0)
    for metric in (GPU_TEMP, _gpu.TEMPERATURE):
        yield _plausible(metric, degrees)


def _power(gpu: Gpu) -> Iterator[Found]:
    watts = gpu.number("nvmlDeviceGetPowerUsage") / 1000
    yield Found(POWER_USAGE, watts)
    yield Found(_gpu.POWER, watts)


def _clock(gpu: Gpu) -> Iterator[Found]:
    megahertz = gpu.number("nvmlDeviceGetClockInfo", abi.CLOCK_SM)
    yield Found(SM_CLOCK, megahertz)
    yield Found(_gpu.CLOCK, megahertz * 1e6)


def _memory_clock(gpu: Gpu) -> Iterator[Found]:
    megahertz = gpu.number("nvmlDeviceGetClockInfo", abi.CLOCK_MEMORY)
    yield Found(MEM_CLOCK, megahertz)
    yield Found(_gpu.MEMORY_CLOCK, megahertz * 1e6)


def _codec(metric: Metric, function: str) -> Reader:
    def read_load(gpu: Gpu) -> Iterator[Found]:
        percent, window = c_uint(), c_uint()
        gpu.ask(function, byref(percent), byref(window))
        yield Found(metric, percent.value)

    return Reader((metric,), read_load)


def _reasons(gpu: Gpu) -> Iterator[Found]:
    new = gpu.library.has("nvmlDeviceGetCurrentClocksEventReasons")
    mask = gpu.long(f"nvmlDeviceGetCurrentClocks{'Event' if new else 'Throttle'}Reasons")
    yield Found(EVENT_REASONS, mask)
    for bit, reason in enumerate(REASONS):
        if 1 << bit != IDLE:  # a GPU without work is not held back
            yield Found(_gpu.THROTTLED, mask >> bit & 1, (reason,))


def _state(gpu: Gpu) -> Iterator[Found]:
    yield Found(PSTATE, gpu.number("nvmlDeviceGetPerformanceState"))


def _fields(gpu: Gpu) -> Iterator[Found]:
    answers = fields.ask(gpu, "tick", KEYS)
    for row in FIELDS:
        number, _, why = answers[row.field, row.scope]
        yield Found(row.metric, None if why else number, why=why)
    heat = answers[HEAT]
    for metric in (MEMORY_TEMP, _gpu.MEMORY_TEMPERATURE):
        yield Found(metric, None, why=heat.why) if heat.why else _plausible(metric, heat.number)
    yield _nvlink(gpu, answers[SENT], answers[RECEIVED])


def _nvlink(gpu: Gpu, sent: fields.Answer, received: fields.Answer) -> Found:
    """Return the rate since the last read, by the driver's own clock."""
    if sent.why or received.why:
        return Found(NVLINK_BANDWIDTH, None, why=sent.why or received.why)
    now = sent.number + received.number, sent.time
    before = gpu.memory.get("nvlink")
    gpu.memory["nvlink"] = now
    if before is None or now[1] <= before[1] or now[0] < before[0]:
        return Found(NVLINK_BANDWIDTH, None, why="a rate needs two readings")
    kibibytes, seconds = now[0] - before[0], (now[1] - before[1]) / 1e6
    return Found(NVLINK_BANDWIDTH, kibibytes / seconds / 1000)


def _plausible(metric: Metric, degrees: float) -> Found:
    if degrees > TOO_HOT:
        return Found(metric, None, why=f"{degrees:g} is no temperature")
    return Found(metric, degrees)


def _identity(gpu: Gpu) -> Iterator[Found]:
    yield Found(_gpu.INFO, 1, (gpu.pci, gpu.driver))
    if "events" in gpu.missing:
        yield Found(XID_ERRORS, None, why=gpu.missing["events"])
    else:
        xid = gpu.last_xid
        yield Found(XID_ERRORS, xid, (str(xid), about(xid).name) if xid else ("", ""))


READERS = (
    Reader((_gpu.INFO, XID_ERRORS), _identity),
    Reader((GPU_UTIL, MEM_COPY_UTIL, _gpu.BUSY, _gpu.MEMORY_BUSY), _load),
    Reader(MEMORY, _memory),
    Reader((GPU_TEMP, _gpu.TEMPERATURE), _temperature),
    Reader((POWER_USAGE, _gpu.POWER), _power),
    Reader((SM_CLOCK, _gpu.CLOCK), _clock),
    Reader((MEM_CLOCK, _gpu.MEMORY_CLOCK), _memory_clock),
    _codec(ENC_UTIL, "nvmlDeviceGetEncoderUtilization"),
    _codec(DEC_UTIL, "nvmlDeviceGetDecoderUtilization"),
    Reader((EVENT_REASONS, _gpu.THROTTLED), _reasons),
    Reader((PSTATE,), _state),
    Reader(
        (*(row.metric for row in FIELDS), MEMORY_TEMP, _gpu.MEMORY_TEMPERATURE, NVLINK_BANDWIDTH), _fields
    ),
)

SOURCE = Source("nvidia", METRICS, read, slow=True)
