"""Space, devices and commits of Btrfs file systems, from /sys/fs/btrfs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Metric, Sample, counter, gauge, info
from vigie.sources._attributes import parse_counters, read_count, read_label, should_search
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

GROUP = ("uuid", "block_group_type")
MODE = (*GROUP, "mode")

METRICS = (
    INFO := info("node_btrfs_info", "Label of the file system.", "uuid", "label"),
    GLOBAL := gauge("node_btrfs_global_rsv_size_bytes", "Global reserve in bytes.", "uuid"),
    RESERVED := gauge("node_btrfs_reserved_bytes", "Reserved bytes of the global reserve.", *GROUP),
    USED := gauge("node_btrfs_used_bytes", "Used bytes by block group type and profile.", *MODE),
    SIZE := gauge("node_btrfs_size_bytes", "Allocated bytes by block group type and profile.", *MODE),
    RATIO := gauge("node_btrfs_allocation_ratio", "Bytes on disk per byte of data.", *MODE),
    DEVICE := gauge("node_btrfs_device_size_bytes", "Size of a device of the file system.", "uuid", "device"),
    COMMITS := counter("node_btrfs_commits_total", "Committed transactions.", "uuid"),
    LAST := gauge("node_btrfs_last_commit_seconds", "Duration of the last commit.", "uuid"),
    LONGEST := gauge("node_btrfs_max_commit_seconds", "Duration of the slowest commit.", "uuid"),
    TIME := counter("node_btrfs_commit_seconds_total", "Total duration of commits.", "uuid"),
)

TOP = "fs/btrfs"
GROUPS = ("data", "metadata", "system")
COPIES = {"single": 1, "raid0": 1, "dup": 2, "raid1": 2, "raid10": 2, "raid1c3": 3, "raid1c4": 4}
PARITY_DISKS = {"raid5": 1, "raid6": 2}
COMMIT_TIMES = (("last_commit_ms", LAST), ("max_commit_ms", LONGEST), ("total_commit_ms", TIME))


class BtrfsReading(NamedTuple):
    """A file that is read every time, and its metric."""

    metric: Metric
    labels: tuple[str, ...]
    path: str
    unit: int


class FilesystemLayout(NamedTuple):
    """Files of one file system; they change with a balance or a new disk."""

    path: str
    uuid: str
    facts: list[Sample]
    readings: list[BtrfsReading]


def read(host: Host) -> Iterator[Sample]:
    """Yield the metrics of every Btrfs file system."""
    names = host.sys.list_directory(TOP)
    if should_search(host) or host.cache.get("names") != names:
        host.cache["names"], host.cache["plans"] = names, _find_layouts(host, names)
    plans: list[FilesystemLayout] = host.cache["plans"]
    if not plans:
        raise Unavailable("no Btrfs file system is mounted")
    for plan in plans:
        yield INFO, (plan.uuid, read_label(host, f"{plan.path}/label")), 1
        yield from plan.facts
        for metric, labels, path, unit in plan.readings:
            value = read_count(host, path)
            yield metric, labels, None if value is None else value * unit
        yield from _read_commits(host, plan.path, plan.uuid)


def _find_layouts(host: Host, names: list[str]) -> list[FilesystemLayout]:
    paths = (f"{TOP}/{name}" for name in names if "-" in name)  # the others are not file systems
    return [_build_layout(host, path) for path in paths if host.sys.exists(f"{path}/allocation")]


def _build_layout(host: Host, path: str) -> FilesystemLayout:
    uuid = read_label(host, f"{path}/metadata_uuid") or to_printable(path[len(TOP) + 1 :])
    disks = host.sys.list_names(f"{path}/devices")
    plan = FilesystemLayout(
        path, uuid, [], [BtrfsReading(GLOBAL, (uuid,), f"{path}/allocation/global_rsv_size", 1)]
    )
    for group in GROUPS:
        here, labels = f"{path}/allocation/{group}", (uuid, group)
        plan.readings.append(BtrfsReading(RESERVED, labels, f"{here}/bytes_reserved", 1))
        for mode in host.sys.list_names(here):
            if mode in COPIES or mode in PARITY_DISKS:
                plan.readings.append(BtrfsReading(USED, (*labels, mode), f"{here}/{mode}/used_bytes", 1))
                plan.readings.append(BtrfsReading(SIZE, (*labels, mode), f"{here}/{mode}/total_bytes", 1))
                plan.facts.append((RATIO, (*labels, mode), _get_ratio(mode, len(disks))))
    for disk in disks:
        plan.readings.append(
            BtrfsReading(DEVICE, (uuid, to_printable(disk)), f"{path}/devices/{disk}/size", 512)
        )
    return plan


def _get_ratio(mode: str, disks: int) -> float | None:
    if mode in COPIES:
        return COPIES[mode]
    content = disks - PARITY_DISKS[mode]
    return disks / content if content > 0 else None


def _read_commits(host: Host, path: str, uuid: str) -> Iterator[Sample]:
    words = (host.sys.read_text(f"{path}/commit_stats") or "").split()
    try:
        stats: dict[str, int] = dict(zip(words[0::2], parse_counters(words[1::2])))
    except ValueError as error:
        host.note(f"/sys/{path}/commit_stats", error)
        return
    yield COMMITS, (uuid,), stats.get("commits")
    for name, metric in COMMIT_TIMES:
        if name in stats:
            yield metric, (uuid,), stats[name] / 1000


SOURCE = Source("btrfs", METRICS, read)
