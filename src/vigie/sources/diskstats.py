"""Input and output of each disk from /proc/diskstats, and what udev knows of the disk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from vigie.model import Sample, counter, gauge, info
from vigie.sources._attributes import look_again, pattern, unsigned
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, check_regex
from vigie.sources.core.tree import to_printable

# The columns after the name, in the kernel's order; older kernels have the first 11 or 15.
COLUMNS = (
    counter("node_disk_reads_completed_total", "Reads that the disk finished.", "device"),
    counter(
        "node_disk_reads_merged_total", "Reads joined with a neighbour before the disk saw them.", "device"
    ),
    counter("node_disk_read_bytes_total", "Bytes read from the disk.", "device"),
    counter("node_disk_read_time_seconds_total", "Time that reads took, summed over all of them.", "device"),
    counter("node_disk_writes_completed_total", "Writes that the disk finished.", "device"),
    counter(
        "node_disk_writes_merged_total", "Writes joined with a neighbour before the disk saw them.", "device"
    ),
    counter("node_disk_written_bytes_total", "Bytes written to the disk.", "device"),
    counter(
        "node_disk_write_time_seconds_total", "Time that writes took, summed over all of them.", "device"
    ),
    gauge("node_disk_io_now", "Requests under way at this moment.", "device"),
    counter("node_disk_io_time_seconds_total", "Time during which the disk had something to do.", "device"),
    counter(
        "node_disk_io_time_weighted_seconds_total",
        "Time during which the disk had something to do, times the requests waiting.",
        "device",
    ),
    counter("node_disk_discards_completed_total", "Discards (trims) that the disk finished.", "device"),
    counter("node_disk_discards_merged_total", "Discards joined with a neighbour.", "device"),
    counter("node_disk_discarded_sectors_total", "Sectors of 512 bytes that were discarded.", "device"),
    counter(
        "node_disk_discard_time_seconds_total", "Time that discards took, summed over all of them.", "device"
    ),
    counter("node_disk_flush_requests_total", "Flushes of the write cache that the disk finished.", "device"),
    counter(
        "node_disk_flush_requests_time_seconds_total",
        "Time that flushes took, summed over all of them.",
        "device",
    ),
)
SECTORS = (2, 6)
MILLISECONDS = (3, 7, 9, 10, 14, 16)
FEWEST_COLUMNS = 11

ATA = {
    "ID_ATA_WRITE_CACHE": gauge(
        "node_disk_ata_write_cache", "1 if the ATA disk has a write cache.", "device"
    ),
    "ID_ATA_WRITE_CACHE_ENABLED": gauge(
        "node_disk_ata_write_cache_enabled", "1 if the ATA disk's write cache is on.", "device"
    ),
    "ID_ATA_ROTATION_RATE_RPM": gauge(
        "node_disk_ata_rotation_rate_rpm",
        "Turns a minute of the ATA disk, 0 for one without platters.",
        "device",
    ),
}

METRICS = (
    *COLUMNS,
    INFO := info(
        "node_disk_info",
        "Which disk it is, by number, path, name of the maker and serial number.",
        *("device", "major", "minor", "path", "wwn", "model", "serial", "revision"),
    ),
    FILESYSTEM := info(
        "node_disk_filesystem_info",
        "The file system that udev found on the disk.",
        *("device", "type", "usage", "uuid", "version"),
    ),
    MAPPER := info(
        "node_disk_device_mapper_info",
        "What the device mapper calls the disk, with its volume group and logical volume.",
        *("device", "name", "uuid", "vg_name", "lv_name", "lv_layer"),
    ),
    *ATA.values(),
)

EXCLUDE = SourceOption(
    "exclude",
    r"^(ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\d+n\d+p)\d+$",
    "Disks that are left out, as a regular expression; by default partitions and loop devices.",
    check_regex,
)

Key = tuple[str, ...]  # major, minor, name


class Disk(NamedTuple):
    """What stays the same of a disk from read to read."""

    key: Key
    wanted: bool
    facts: list[Sample]


Line = tuple[Disk, list[Sample]]


def read(host: Host) -> Iterator[Sample]:
    """Yield every disk's counters and its facts."""
    if look_again(host):  # udev writes a disk's record anew when it is formatted
        host.cache["lines"], host.cache["disks"] = {}, {}
    before: dict[str, Line] = host.cache["lines"]
    now: dict[str, Line] = {}
    for line in host.proc.read("diskstats").splitlines():
        known = before.get(line) or _parsed(host, line)  # an idle disk's line stays as it is
        if known is not None:
            now[line] = known
            yield from known[1]
    host.cache["lines"] = now
    host.cache["disks"] = {disk.key: disk for disk, _ in now.values()}


def _parsed(host: Host, line: str) -> Line | None:
    words = line.split()
    if len(words) < 3 + FEWEST_COLUMNS:
        if words:
            host.note(f"/proc/diskstats {' '.join(words[:3])}", "the line is cut short")
        return None
    key = tuple(words[:3])
    disk: Disk = host.cache["disks"].get(key) or _met(host, *words[:3])
    if not disk.wanted:
        return disk, []
    try:
        values: list[float] = [*unsigned(words[3:20])]
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


def _met(host: Host, major: str, minor: str, name: str) -> Disk:
    wanted = not pattern(host, EXCLUDE).search(name)
    facts = list(_facts(host, to_printable(name), major, minor)) if wanted else []
    return Disk((major, minor, name), wanted, facts)


def _facts(host: Host, device: str, major: str, minor: str) -> Iterator[Sample]:
    record = host.root.read_text(f"run/udev/data/b{major}:{minor}") or ""
    pairs = (line[2:].partition("=") for line in record.splitlines() if line.startswith("E:"))
    udev = {name: to_printable(value) for name, _, value in pairs}

    def values(*names: str) -> tuple[str, ...]:
        return tuple(udev.get(name, "") for name in names)

    serial = udev.get("SCSI_IDENT_SERIAL") or udev.get("ID_SERIAL_SHORT", "")  # the first is on the sticker
    path, wwn, model, revision = values("ID_PATH", "ID_WWN", "ID_MODEL", "ID_REVISION")
    yield INFO, (device, major, minor, path, wwn, model, serial, revision), 1
    if udev.get("ID_FS_TYPE"):
        yield FILESYSTEM, (device, *values("ID_FS_TYPE", "ID_FS_USAGE", "ID_FS_UUID", "ID_FS_VERSION")), 1
    if udev.get("DM_NAME"):
        yield MAPPER, (device, *values("DM_NAME", "DM_UUID", "DM_VG_NAME", "DM_LV_NAME", "DM_LV_LAYER")), 1
    if udev.get("ID_ATA"):
        for name, metric in ATA.items():
            if udev.get(name, "").isdecimal():
                yield metric, (device,), int(udev[name])


SOURCE = Source("diskstats", METRICS, read, options=(EXCLUDE,))
