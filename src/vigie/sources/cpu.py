"""CPU time by core and mode from /proc/stat; throttling, isolation and online state from sysfs."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from vigie.model import Sample, counter, gauge
from vigie.sources._host import Host
from vigie.sources._ranges import spread
from vigie.sources._source import Source

METRICS = (
    SECONDS := counter("node_cpu_seconds_total", "Seconds each core spent in each mode.", "cpu", "mode"),
    GUEST := counter(
        "node_cpu_guest_seconds_total", "Seconds each core spent running guests of this host.", "cpu", "mode"
    ),
    CORE_THROTTLES := counter(
        "node_cpu_core_throttles_total", "Times the core was slowed down by heat.", "package", "core"
    ),
    PACKAGE_THROTTLES := counter(
        "node_cpu_package_throttles_total", "Times the package was slowed down by heat.", "package"
    ),
    ISOLATED := gauge("node_cpu_isolated", "1 for a core that the scheduler leaves alone.", "cpu"),
    ONLINE := gauge("node_cpu_online", "1 for a core that is switched on, 0 for one that is off.", "cpu"),
)

MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
IDLE = MODES.index("idle")
CPU = "devices/system/cpu/"

# Idle time that falls by this much says that the core was taken out and put back.
HOT_PLUG_TICKS = 300


def read(host: Host) -> Iterator[Sample]:
    """Yield every core's times, then what sysfs knows of the cores."""
    yield from _times(host)
    yield from _throttles(host)
    for cpu in spread(host.sys.text(CPU + "isolated") or ""):
        yield ISOLATED, (str(cpu),), 1
    online = set(spread(host.sys.text(CPU + "online") or ""))
    for cpu in spread(host.sys.text(CPU + "present") or ""):
        yield ONLINE, (str(cpu),), float(cpu in online)


def _times(host: Host) -> Iterator[Sample]:
    known: Dict[str, List[int]] = host.memory.setdefault("ticks", {})
    now: Dict[str, List[int]] = {}
    per_second = host.calls.ticks
    for line in host.proc.read("stat").splitlines()[1:]:
        if not line.startswith("cpu"):
            break
        name, *fields = line.split()
        try:
            ticks = [int(field) for field in fields]
        except ValueError as error:
            host.note(f"/proc/stat {name}", error)
            continue
        cpu = name[3:]
        ticks = now[cpu] = _never_back(ticks, known.get(cpu))
        for mode, value in zip(MODES, ticks):
            yield SECONDS, (cpu, mode), value / per_second
        for mode, value in zip(("user", "nice"), ticks[8:]):
            yield GUEST, (cpu, mode), value / per_second
    host.memory["ticks"] = now


def _never_back(ticks: List[int], before: Optional[List[int]]) -> List[int]:
    # The kernel's iowait and idle may shrink by a little; a counter that shrinks looks like a reset.
    if before is None or len(before) != len(ticks) or before[IDLE] - ticks[IDLE] >= HOT_PLUG_TICKS:
        return ticks
    return list(map(max, ticks, before))


def _throttles(host: Host) -> Iterator[Sample]:
    cores = list(host.memory["ticks"])
    if host.memory.get("cores") != cores:
        host.memory["cores"] = cores
        host.memory["throttling"] = list(_throttling_cores(host, cores))
    seen = set()
    for path, package, core in host.memory["throttling"]:
        if (package, core) not in seen:  # hyper-threads of one core share its count
            seen.add((package, core))
            yield CORE_THROTTLES, (package, core), host.sys.number(path + "core_throttle_count")
        if package not in seen:
            seen.add(package)
            yield PACKAGE_THROTTLES, (package,), host.sys.number(path + "package_throttle_count")


def _throttling_cores(host: Host, cores: List[str]) -> Iterator[Tuple[str, str, str]]:
    for cpu in cores:
        path = f"{CPU}cpu{cpu}/"
        if host.sys.exists(path + "thermal_throttle"):
            package = host.sys.text(path + "topology/physical_package_id")
            core = host.sys.text(path + "topology/core_id")
            if package is not None and core is not None:
                yield path + "thermal_throttle/", package, core


SOURCE = Source("cpu", METRICS, read)
