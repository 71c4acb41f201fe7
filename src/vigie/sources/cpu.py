"""CPU time by core and mode from /proc/stat; throttling, isolation and online state from sysfs."""

from __future__ import annotations

from collections.abc import Iterator
from operator import gt
from typing import NamedTuple

from vigie.model import Metric, Sample, counter, gauge
from vigie.sources._number_lists import parse_number_list
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    SECONDS := counter("node_cpu_seconds_total", "Seconds the CPUs spent in each mode.", "cpu", "mode"),
    GUEST := counter("node_cpu_guest_seconds_total", "Seconds the CPUs spent running guests.", "cpu", "mode"),
    CORE_THROTTLES := counter(
        "node_cpu_core_throttles_total", "Times the core was throttled by temperature.", "package", "core"
    ),
    PACKAGE_THROTTLES := counter(
        "node_cpu_package_throttles_total", "Times the package was throttled by temperature.", "package"
    ),
    ISOLATED := gauge("node_cpu_isolated", "1 if the CPU is isolated from the scheduler.", "cpu"),
    ONLINE := gauge("node_cpu_online", "1 if the CPU is online, 0 otherwise.", "cpu"),
)

MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
IDLE = MODES.index("idle")
COLUMNS = (*((SECONDS, mode) for mode in MODES), (GUEST, "user"), (GUEST, "nice"))
KINDS = tuple(metric for metric, _ in COLUMNS)
CPU = "devices/system/cpu/"

# A decrease of idle time by this much means that the CPU was offline.
HOT_PLUG_TICKS = 300


class Core(NamedTuple):
    """Cached label values of a core, and its last ticks."""

    labels: list[tuple[str, str]]
    ticks: list[int]


def read(host: Host) -> Iterator[Sample]:
    """Yield the times of every CPU, then its state from sysfs."""
    yield from _parse_times(host)
    cores = list(host.cache["cores"])
    if host.cache.get("throttled") != cores:
        host.cache["throttled"] = cores
        host.cache["throttles"] = list(_read_throttles(host, cores))
    for metric, labels, path in host.cache["throttles"]:
        yield metric, labels, host.sys.read_number(path)
    ranges = [host.sys.read_text(CPU + name) or "" for name in ("isolated", "online", "present")]
    if host.cache.get("ranges") != ranges:
        host.cache["ranges"] = ranges
        host.cache["states"] = list(_read_states(*ranges))
    yield from host.cache["states"]


def _parse_times(host: Host) -> Iterator[Sample]:
    known: dict[str, Core] = host.cache.get("cores", {})
    now: dict[str, Core] = {}
    per_second = host.calls.ticks
    for line in host.proc.read("stat").splitlines()[1:]:
        if not line.startswith("cpu"):
            break
        name, *fields = line.split()
        cpu = name[3:]
        try:
            ticks = [int(field) for field in fields]
            if len(ticks) <= IDLE:
                raise ValueError(f"{len(ticks)} columns")
            core = known.get(cpu)
            if core is None:
                core = Core([(cpu, mode) for _, mode in COLUMNS], ticks)
            elif any(map(gt, core.ticks, ticks)):
                ticks = _clamp_decreases(ticks, core.ticks)
            values = [value / per_second for value in ticks]
        except (ValueError, OverflowError) as error:
            host.note(f"/proc/stat {name}", error)
            continue
        core.ticks[:] = ticks
        now[cpu] = core
        yield from zip(KINDS, core.labels, values)
    host.cache["cores"] = now


def _clamp_decreases(ticks: list[int], before: list[int]) -> list[int]:
    # The kernel's iowait and idle may decrease slightly, which would look like a counter reset.
    if len(before) != len(ticks) or before[IDLE] - ticks[IDLE] >= HOT_PLUG_TICKS:
        return ticks
    return list(map(max, ticks, before))


def _read_throttles(host: Host, cores: list[str]) -> Iterator[tuple[Metric, tuple[str, ...], str]]:
    seen: set[tuple[str, ...]] = set()
    for cpu in cores:
        path = f"{CPU}cpu{cpu}/"
        if not host.sys.exists(path + "thermal_throttle"):
            continue
        package = host.sys.read_text(path + "topology/physical_package_id")
        core = host.sys.read_text(path + "topology/core_id")
        if package is None or core is None:
            continue
        counts = ((CORE_THROTTLES, (package, core), "core"), (PACKAGE_THROTTLES, (package,), "package"))
        for metric, labels, name in counts:
            if labels not in seen:  # hyper-threads of a core share the counter
                seen.add(labels)
                yield metric, labels, f"{path}thermal_throttle/{name}_throttle_count"


def _read_states(isolated: str, online: str, present: str) -> Iterator[Sample]:
    for cpu in parse_number_list(isolated):
        yield ISOLATED, (str(cpu),), 1
    switched_on = set(parse_number_list(online))
    for cpu in parse_number_list(present) if switched_on else ():
        yield ONLINE, (str(cpu),), int(cpu in switched_on)


SOURCE = Source("cpu", METRICS, read)
