"""Disk I/O from /proc/diskstats, and disk information from udev."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from vigie.model import Sample, counter, gauge, info
from vigie.sources._attributes import compile_option, parse_counters, should_search
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, check_regex
from vigie.sources.core.tree import to_printable

# Columns after the name, in the kernel's order. Older kernels have the first 11 or 15.
COLUMNS = (
    counter("node_disk_reads_completed_total", "Completed reads.", "device"),
    counter("node_disk_reads_merged_total", "Merged reads.", "device"),
    counter("node_disk_read_bytes_total", "Bytes read.", "device"),
    counter("node_disk_read_time_seconds_total", "Total duration of reads.", "device"),
    counter("node_disk_writes_completed_total", "Completed writes.", "device"),
    counter("node_disk_writes_merged_total", "Merged writes.", "device"),
    counter("node_disk_written_bytes_total", "Bytes written.", "device"),
    counter("node_disk_write_time_seconds_total", "Total duration of writes.", "device"),
    gauge("node_disk_io_now", "I/O requests in flight.", "device"),
    counter("node_disk_io_time_seconds_total", "Time with I/O in progress.", "device"),
    counter(
        "node_disk_io_time_weighted_seconds_total",
        "Time with I/O in progress, weighted by the requests in flight.",
        "device",
    ),
    counter("node_disk_discards_completed_total", "Completed discards.", "device"),
    counter("node_disk_discards_merged_total", "Merged discards.", "device"),
    counter("node_disk_discarded_sectors_total", "Discarded sectors of 512 bytes.", "device"),
    counter("node_disk_discard_time_seconds_total", "Total duration of discards.", "device"),
    counter("node_disk_flush_requests_total", "Completed flushes.", "device"),
    counter(
        "node_disk_flush_requests_time_seconds_total",
        "Total duration of flushes.",
        "device",
    ),
)
SECTORS = (2, 6)
MILLISECONDS = (3, 7, 9, 10, 14, 16)
MIN_COLUMNS = 11

ATA = {
    "ID_ATA_WRITE_CACHE": gauge(
        "node_disk_ata_write_cache", "1 if the ATA disk has a write cache.", "device"
    ),
    "ID_ATA_WRITE_CACHE_ENABLED": gauge(
        "node_disk_ata_write_cache_enabled", "1 if the ATA disk's write cache is enabled.", "device"
    ),
    "ID_ATA_ROTATION_RATE_RPM": gauge(
        "node_disk_ata_rotation_rate_rpm",
        "Rotation rate of the ATA disk in revolutions per minute, 0 for an SSD.",
        "device",
    ),
}

METRICS = (
    *COLUMNS,
    INFO := info(
        "node_disk_info",
        "Device numbers, path, model and serial number of the disk.",
        *("device", "major", "minor", "path", "wwn", "model", "serial", "revision", "rotational"),
    ),
    FILESYSTEM := info(
        "node_disk_filesystem_info",
        "File system on the disk, according to udev.",
        *("device", "type", "usage", "uuid", "version"),
    ),
    MAPPER := info(
        "node_disk_device_mapper_info",
        "Name, volume group and logical volume of a device mapper disk.",
        *("device", "name", "uuid", "vg_name", "lv_name", "lv_layer"),
    ),
    *ATA.values(),
)

EXCLUDE = SourceOption(
    "exclude",
    r"^(ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\d+n\d+p)\d+$",
    "Disks to exclude, as a regular expression. Default: partitions and loop devices.",
    check_regex,
)

Key = tuple[str, ...]  # major, minor, name


class Disk(NamedTuple):
    """Constant information of a disk."""

    key: Key
    included: bool
    facts: list[Sample]


Line = tuple[Disk, list[Sample]]


def read(host: Host) -> Iterator[Sample]:
    """Yield the counters and information of every disk."""
    if should_search(host):  # udev rewrites the record when a disk is formatted
        host.cache["lines"], host.cache["disks"] = {}, {}
    before: dict[str, Line] = host.cache["lines"]
    now: dict[str, Line] = {}
    for line in host.proc.read("diskstats").splitlines():
        known = before.get(line) or _parse_line(host, line)  # the line of an idle disk does not change
        if known is not None:
            now[line] = known
            yield from known[1]
    host.cache["lines"] = now
    host.cache["disks"] = {disk.key: disk for disk, _ in now.values()}


def _parse_line(host: Host, line: str) -> Line | None:
    words = line.split()
    if len(words) < 3 + MIN_COLUMNS:
        if words:
            host.note(f"/proc/diskstats {' '.join(words[:3])}", "truncated line")
        return None
    key = tuple(words[:3])
    disk: Disk = host.cache["disks"].get(key) or _add_disk(host, *words[:3])
    if not disk.included:
        return disk, []
    try:
        values: list[float] = [*parse_counters(words[3:20])]
    except ValueError as error:
        host.note(f"/proc/diskstats {words[2]}", error)
        return None
    for place in SECTORS:
        values[place] *= 512
    for place in MILLISECONDS:
        if place < len(values):
            values[place] /= 1000
    labels = (to_printable(words[2]),)
    return disk, [*zip(COLUMNS, repeat(labels), values), *disk.facts]


def _add_disk(host: Host, major: str, minor: str, name: str) -> Disk:
    wanted = not compile_option(host, EXCLUDE).search(name)
    facts = list(_read_facts(host, to_printable(name), major, minor)) if wanted else []
    return Disk((major, minor, name), wanted, facts)


def _read_facts(host: Host, device: str, major: str, minor: str) -> Iterator[Sample]:
    record = host.root.read_text(f"run/udev/data/b{major}:{minor}") or ""
    pairs = (line[2:].partition("=") for line in record.splitlines() if line.startswith("E:"))
    udev = {name: to_printable(value) for name, _, value in pairs}

    def values(*names: str) -> tuple[str, ...]:
        return tuple(udev.get(name, "") for name in names)

    serial = udev.get("SCSI_IDENT_SERIAL") or udev.get(
        "ID_SERIAL_SHORT", ""
    )  # the first is printed on the label
    path, wwn, model, revision = values("ID_PATH", "ID_WWN", "ID_MODEL", "ID_REVISION")
    rotational = host.sys.read_text(f"block/{device}/queue/rotational") or ""
    yield INFO, (device, major, minor, path, wwn, model, serial, revision, to_printable(rotational)), 1
    if udev.get("ID_FS_TYPE"):
        yield FILESYSTEM, (device, *values("ID_FS_TYPE", "ID_FS_USAGE", "ID_FS_UUID", "ID_FS_VERSION")), 1
    if udev.get("DM_NAME"):
        yield MAPPER, (device, *values("DM_NAME", "DM_UUID", "DM_VG_NAME", "DM_LV_NAME", "DM_LV_LAYER")), 1
    if udev.get("ID_ATA"):
        for name, metric in ATA.items():
            if udev.get(name, "").isdecimal():
                yield metric, (device,), int(udev[name])


SOURCE = Source("diskstats", METRICS, read, options=(EXCLUDE,))
