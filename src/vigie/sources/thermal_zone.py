"""Thermal zones and cooling devices, from /sys/class/thermal."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources._attributes import read_label, read_measure
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    TEMPERATURE := gauge(
        "node_thermal_zone_temp", "Temperature of the zone in degrees Celsius.", "zone", "type"
    ),
    NOW := gauge(
        "node_cooling_device_cur_state", "State of the cooling device; -1 if unknown.", "name", "type"
    ),
    MAX_STATE := gauge(
        "node_cooling_device_max_state", "Maximum state of the cooling device.", "name", "type"
    ),
)

CLASS = "class/thermal"
ZONE, DEVICE = "thermal_zone", "cooling_device"


def read(host: Host) -> Iterator[Sample]:
    """Yield every zone and cooling device."""
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("no thermal zone or cooling device")
    known: dict[str, str] = host.cache.get("types", {})
    types = host.cache["types"] = {
        name: known.get(name) or read_label(host, f"{CLASS}/{name}/type") for name in names
    }
    for name in names:
        path = f"{CLASS}/{name}/"
        if name.startswith(ZONE):
            yield (
                TEMPERATURE,
                (to_printable(name[len(ZONE) :]), types[name]),
                read_measure(host, path + "temp", 1000),
            )
        elif name.startswith(DEVICE):
            labels = (to_printable(name[len(DEVICE) :]), types[name])
            yield NOW, labels, read_measure(host, path + "cur_state")
            yield MAX_STATE, labels, read_measure(host, path + "max_state")


SOURCE = Source("thermal_zone", METRICS, read, slow=True)
