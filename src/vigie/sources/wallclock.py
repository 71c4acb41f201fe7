"""Wall clock, time zone and clock sources."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge, info
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    SECONDS := gauge("node_time_seconds", "Unix time of the machine."),
    ZONE := gauge("node_time_zone_offset_seconds", "Offset of the local time zone from UTC.", "time_zone"),
    AVAILABLE := info(
        "node_time_clocksource_available_info",
        "Available clock source.",
        "device",
        "clocksource",
    ),
    CURRENT := info(
        "node_time_clocksource_current_info",
        "Current clock source.",
        "device",
        "clocksource",
    ),
)

CLOCKS = "devices/system/clocksource"


def read(host: Host) -> Iterator[Sample]:
    """Yield time, zone and clock sources of each clock device; Linux has one."""
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
