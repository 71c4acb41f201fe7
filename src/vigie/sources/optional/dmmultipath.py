"""Disks reached over several paths by the device mapper, from /sys/block/dm-*."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge, info
from vigie.sources._attributes import read_count, read_label
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

DEVICE = ("device", "sysfs_name")

METRICS = (
    INFO := info("node_dmmultipath_device_info", "Which multipath device it is.", *DEVICE, "uuid"),
    ACTIVE := gauge("node_dmmultipath_device_active", "1 if it is active, 0 if suspended.", *DEVICE),
    SIZE := gauge("node_dmmultipath_device_size_bytes", "Bytes that it holds.", *DEVICE),
    PATHS := gauge("node_dmmultipath_device_paths", "Paths to it.", *DEVICE),
    PATHS_ACTIVE := gauge("node_dmmultipath_device_paths_active", "Paths that work.", *DEVICE),
    PATHS_FAILED := gauge("node_dmmultipath_device_paths_failed", "Paths that do not work.", *DEVICE),
    STATE := gauge(
        "node_dmmultipath_path_state", "1 for the state that the path is in.", "device", "path", "state"
    ),
)

WORKING = ("running", "live")  # how SCSI and NVMe call it
SECTOR = 512


def read(host: Host) -> Iterator[Sample]:
    """Yield every multipath device and its paths."""
    found = False
    for name in host.sys.list_directory("block"):
        uuid = read_label(host, f"block/{name}/dm/uuid") if name.startswith("dm-") else ""
        if uuid.startswith("mpath-"):
            found = True
            yield from _device(host, name, uuid)
    if not found:
        raise Unavailable("there is no multipath device on this machine")


def _device(host: Host, name: str, uuid: str) -> Iterator[Sample]:
    path = f"block/{name}"
    device = read_label(host, f"{path}/dm/name")
    labels = (device, to_printable(name))
    suspended, sectors = read_count(host, f"{path}/dm/suspended"), read_count(host, f"{path}/size")
    yield INFO, (*labels, uuid), 1
    yield ACTIVE, labels, None if suspended is None else int(not suspended)
    yield SIZE, labels, None if sectors is None else sectors * SECTOR
    states = {
        slave: read_label(host, f"block/{slave}/device/state")
        for slave in host.sys.list_names(f"{path}/slaves")
    }
    working = sum(state in WORKING for state in states.values())
    yield PATHS, labels, len(states)
    yield PATHS_ACTIVE, labels, working
    yield PATHS_FAILED, labels, len(states) - working
    for slave, state in states.items():
        yield STATE, (device, to_printable(slave), state), 1


SOURCE = Source("dmmultipath", METRICS, read, default=False)
