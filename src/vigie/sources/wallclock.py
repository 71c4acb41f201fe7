"""The wall clock, its zone, and which hardware the kernel counts time by."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge, info
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    SECONDS := gauge("node_time_seconds", "The machine's wall clock, in Unix time."),
    ZONE := gauge("node_time_zone_offset_seconds", "How far local time is ahead of UTC.", "time_zone"),
    AVAILABLE := info(
        "node_time_clocksource_available_info",
        "A clock that the kernel could count time by.",
        "device",
        "clocksource",
    ),
    CURRENT := info(
        "node_time_clocksource_current_info",
        "The clock that the kernel counts time by.",
        "device",
        "clocksource",
    ),
)

CLOCKS = "devices/system/clocksource"


def read(host: Host) -> Iterator[Sample]:
    """Yield the time, the zone, and the clocks of each clock device, of which Linux has one."""
    yield SECONDS, (), host.calls.time()
    name, offset = host.calls.time_zone()
    yield ZONE, (name,), offset
    if "devices" not in host.cache:
        names = host.sys.list_names(CLOCKS)
        host.cache["devices"] = [name[11:] for name in names if name.startswith("clocksource")]
    for device in host.cache["devices"]:
        path = f"{CLOCKS}/clocksource{device}/"
        for clock in (host.sys.read_text(path + "available_clocksource") or "").split():
            yield AVAILABLE, (device, clock), 1
        for clock in (host.sys.read_text(path + "current_clocksource") or "").split():
            yield CURRENT, (device, clock), 1


SOURCE = Source("time", METRICS, read)
