"""Profiling counters of NVIDIA GPUs: from the driver (GPM, Hopper and newer), else from DCGM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, NamedTuple, Union

from vigie.model import Sample
from vigie.sources._nvml import abi
from vigie.sources._nvml.driver import NvmlDriver
from vigie.sources._nvml.gpm import GpmCounters, GpmPair, can_sample
from vigie.sources._nvml.gpu import PERMANENT_ERRORS, GpuPart, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.profiling_fields import ROWS, check_fields, select_fields
from vigie.sources._nvml.samples import GpuReader, SampleBlockCache, Value, get_driver, read_samples
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable, check_seconds

if TYPE_CHECKING:
    from vigie.sources._dcgm.profiler import Profiler

AUTO, OFF = "auto", "off"
METRICS = tuple(row.metric for row in ROWS)
NEEDS = "profiling without DCGM requires Hopper or newer"
NEEDS_WHOLE = "profiling of MIG instances requires Hopper or newer"

ENGINE = SourceOption(
    "dcgm",
    AUTO,
    "DCGM engine for GPUs before Hopper: auto (the host engine on this machine: its socket or port 5555), "
    "an address or socket, embedded (in a child process of the agent), or off.",
)
LIBRARY = SourceOption(
    "dcgm_library",
    "",
    "Name or path of DCGM's library. Default: libdcgm.so.4, libdcgm.so.3 or libdcgm.so.",
)
INTERVAL = SourceOption("dcgm_interval", "10", "Averaging interval of DCGM in seconds.", check_seconds)
FIELDS = SourceOption(
    "fields",
    "",
    "Counters by DCGM id or name, such as 1001-1005,DCGM_FI_PROF_DRAM_ACTIVE, or the path of a "
    "dcgm-exporter list. Default: all.",
    check_fields,
)
PIPES = SourceOption("pipes", "true", "Measure the activity of each pipe (tensor, FP64, FP32, FP16).")

DcgmValues = Mapping[str, Mapping[int, Value]]  # by GPU and DCGM field id


class DcgmProfiling(NamedTuple):
    """Values from DCGM for the GPUs that need it, or the reason for their absence."""

    values: Union[DcgmValues, str]  # noqa: UP007 - evaluated on Python 3.9
    requested: frozenset[str]


def read(host: Host) -> list[Sample]:
    """Return the profiling counters of every GPU and MIG instance."""
    wanted = _select_counters(host)
    dcgm = _read_dcgm(host, wanted, _find_without_gpm(get_driver(host)))
    return read_samples(
        host, (GpuReader(wanted.series.metrics, lambda gpu: _read_counters(gpu, wanted, dcgm)),)
    )


def _select_counters(host: Host) -> GpmCounters:
    """Return the configured counters, cached."""
    if "wanted" not in host.cache:
        fields = host.options.get(FIELDS.name, FIELDS.default)
        pipes = host.options.get(PIPES.name, PIPES.default) == "true"
        host.cache["wanted"] = GpmCounters(select_fields(fields, pipes=pipes))
    wanted: GpmCounters = host.cache["wanted"]
    return wanted


def _find_without_gpm(driver: NvmlDriver) -> list[str]:
    """Return the GPUs whose driver has no counters. Their MIG instances have none at all."""
    if not driver.gpus() or any("no_gpm" not in gpu.cache for gpu in driver.gpus()):
        driver.call_each(_test_gpm)
    return [gpu.uuid for gpu in driver.gpus() if gpu.cache.get("no_gpm") and not gpu.parts]


def _test_gpm(gpu: NvmlGpu) -> None:
    """Test once whether the driver has counters for this GPU."""
    if "no_gpm" not in gpu.cache:
        support = abi.GpmSupport(version=1)
        try:
            gpu.call("nvmlGpmQueryDeviceSupport", byref(support))
            gpu.cache["no_gpm"] = not support.isSupportedDevice
        except NvmlError as error:
            if error.code not in PERMANENT_ERRORS:
                raise
            gpu.cache["no_gpm"] = not can_sample(gpu)


def _read_dcgm(host: Host, counters: GpmCounters, wanted: Sequence[str]) -> DcgmProfiling:
    if not wanted:
        return DcgmProfiling({}, frozenset())
    profiler = _open_profiler(host, counters)
    if profiler is None:
        return DcgmProfiling(NEEDS, frozenset(wanted))
    try:
        return DcgmProfiling(profiler.latest(wanted), frozenset(wanted))
    except Unavailable as why:
        return DcgmProfiling(f"{NEEDS}; {why}", frozenset(wanted))


def _open_profiler(host: Host, counters: GpmCounters) -> Profiler | None:
    engine = host.options.get(ENGINE.name, ENGINE.default)
    if engine == OFF:
        return None
    if "profiler" not in host.cache:
        # Imported late: most machines do not need it.
        from vigie.sources._dcgm.profiler import Profiler, ProfilerSettings

        profiler = host.cache["profiler"] = Profiler(
            ProfilerSettings(
                engine,
                host.options.get(LIBRARY.name, LIBRARY.default),
                float(host.options.get(INTERVAL.name, INTERVAL.default)),
                tuple(row.field for row in counters.rows),
            )
        )
        host.on_close.append(profiler.close)
        get_driver(host).closed_with.append(profiler.close)
    found: Profiler = host.cache["profiler"]
    return found


def _read_counters(gpu: NvmlGpu, counters: GpmCounters, dcgm: DcgmProfiling) -> list[SampleBlockCache]:
    if gpu.cache.get("no_gpm"):
        return [SampleBlockCache(counters.series, _get_dcgm_values(gpu, counters, dcgm))]
    wanted: dict[str, GpuPart | None] = {part.uuid: part for part in gpu.parts} or {gpu.uuid: None}
    pairs: dict[str, GpmPair] = gpu.cache.setdefault("pairs", {})
    for gone in pairs.keys() - wanted.keys():
        pairs.pop(gone).free()
    found = []
    for uuid, part in wanted.items():
        if uuid not in pairs:
            pairs[uuid] = GpmPair(gpu, part, counters)
        found.append(pairs[uuid].read())
    return found


def _get_dcgm_values(gpu: NvmlGpu, counters: GpmCounters, dcgm: DcgmProfiling) -> list[Value]:
    rows = counters.rows
    if gpu.uuid not in dcgm.requested:
        return [NEEDS_WHOLE] * len(rows)
    if isinstance(dcgm.values, str):
        return [dcgm.values] * len(rows)
    values = dcgm.values.get(gpu.uuid, {})
    said = [values.get(row.field, "no value from DCGM") for row in rows]
    return [f"from DCGM: {value}" if isinstance(value, str) else value for value in said]


SOURCE = Source(
    "nvidia_profiling", METRICS, read, slow=True, options=(ENGINE, LIBRARY, INTERVAL, FIELDS, PIPES)
)
