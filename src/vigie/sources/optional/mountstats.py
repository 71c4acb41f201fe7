"""What each NFS mount of this machine did, from /proc/PID/mountstats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from vigie.model import Metric, Sample, counter, gauge, info
from vigie.sources._attributes import parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

MOUNT = ("export", "protocol", "mountaddr")


def _of_mount(name: str, help: str) -> Metric:
    return counter(f"node_mountstats_nfs_{name}_total", help, *MOUNT)


def _event(name: str, help: str) -> Metric:
    return _of_mount(f"event_{name}", help)


def _of_transport(name: str, help: str) -> Metric:
    return counter(f"node_mountstats_nfs_transport_{name}_total", help, *MOUNT, "transport")


def _of_operation(name: str, help: str) -> Metric:
    return counter(f"node_mountstats_nfs_operations_{name}_total", help, *MOUNT, "operation")


AGE = _of_mount("age_seconds", "Seconds since it was mounted.")
INFO = info("node_mountstats_nfs_mountpoint_info", "Where it is mounted.", *MOUNT, "mountpoint")
# Each in the order of the numbers in its line.
BYTES = (
    _of_mount("read_bytes", "Bytes that programs read."),
    _of_mount("write_bytes", "Bytes that programs wrote."),
    _of_mount("direct_read_bytes", "Bytes that programs read past the cache (O_DIRECT)."),
    _of_mount("direct_write_bytes", "Bytes that programs wrote past the cache (O_DIRECT)."),
    _of_mount("total_read_bytes", "Bytes read from the server."),
    _of_mount("total_write_bytes", "Bytes written to the server."),
    _of_mount("read_pages", "Pages read for mapped files and the cache."),
    _of_mount("write_pages", "Pages written for mapped files and the cache."),
)
EVENTS = (
    _event("inode_revalidate", "Times cached attributes were checked with the server."),
    _event("dnode_revalidate", "Times cached directory entries were checked."),
    _event("data_invalidate", "Times cached data of a file was dropped."),
    _event("attribute_invalidate", "Times cached attributes were dropped."),
    _event("vfs_open", "Files and directories opened."),
    _event("vfs_lookup", "Names looked up."),
    _event("vfs_access", "Permissions checked."),
    _event("vfs_update_page", "Pages updated, and perhaps written."),
    _event("vfs_read_page", "Single pages read."),
    _event("vfs_read_pages", "Groups of pages read."),
    _event("vfs_write_page", "Single pages written."),
    _event("vfs_write_pages", "Groups of pages written."),
    _event("vfs_getdents", "Directories listed."),
    _event("vfs_setattr", "Attributes set."),
    _event("vfs_flush", "Times changes were forced to the server."),
    _event("vfs_fsync", "Times fsync was called."),
    _event("vfs_lock", "Times a lock was tried."),
    _event("vfs_file_release", "Files closed."),
    None,  # nobody counts congestion any more
    _event("truncation", "Files cut short."),
    _event("write_extension", "Files grown by writing past their end."),
    _event("silly_rename", "Files removed while still open."),
    _event("short_read", "Reads that returned less than requested."),
    _event("short_write", "Writes of which the server accepted less than sent."),
    _event("jukebox_delay", "Times the server had to fetch data from slow storage."),
    _event("pnfs_read", "Reads by pNFS."),
    _event("pnfs_write", "Writes by pNFS."),
)
# After the protocol and the port.
TRANSPORT = (
    _of_transport("bind", "Times a connection was made from scratch."),
    _of_transport("connect", "Times a TCP connection was made."),
    None,  # time spent connecting
    IDLE := gauge(
        "node_mountstats_nfs_transport_idle_time_seconds",
        "Time since the last call.",
        *MOUNT,
        "transport",
    ),
    _of_transport("sends", "Calls sent."),
    _of_transport("receives", "Answers received."),
    _of_transport("bad_transaction_ids", "Answers to calls that were never made."),
    None,  # calls in flight, summed up
    _of_transport("backlog_queue", "Length of the backlog, summed over all calls."),
    SLOTS := gauge(
        "node_mountstats_nfs_transport_maximum_rpc_slots",
        "Most calls that were under way at once.",
        *MOUNT,
        "transport",
    ),
    _of_transport("sending_queue", "Length of the sending queue, summed over all calls."),
    _of_transport("pending_queue", "Length of the pending queue, summed over all calls."),
)
OPERATIONS = (
    _of_operation("requests", "Requests, by operation."),
    _of_operation("transmissions", "Times a request was sent, repeats included."),
    _of_operation("major_timeouts", "Requests that timed out."),
    _of_operation("sent_bytes", "Bytes sent."),
    _of_operation("received_bytes", "Bytes received."),
    _of_operation("queue_time_seconds", "Time that requests waited to be sent."),
    _of_operation("response_time_seconds", "Time until the server answered."),
    _of_operation("request_time_seconds", "Time from first to last of a request."),
    _of_operation("errors", "Requests that failed."),
)
MILLISECONDS = (5, 6, 7)
METRICS = (
    AGE,
    INFO,
    *BYTES,
    *(metric for metric in (*EVENTS, *TRANSPORT) if metric),
    *OPERATIONS,
)

UDP_HAS_NO = 3  # numbers: connections, the time that they took, idle time
LONG = 1 << 53  # a time that ran backwards is a huge number; the float's own 53 bits are kept


class NfsMount(NamedTuple):
    """A mount's lines, each as words without the first."""

    export: str
    point: str
    lines: dict[str, list[str]]
    transports: list[list[str]]
    operations: dict[str, list[str]]


def read(host: Host) -> Iterator[Sample]:
    """Yield every NFS mount; one export that is mounted twice shares its numbers and is reported once."""
    process, text = _mountstats(host)
    mounts = list(_mounts(text))
    if not mounts:
        raise Unavailable("nothing is mounted by NFS")
    addresses = _addresses(host.proc.read_text(f"{process}/mountinfo") or "")
    told: set[tuple[str, ...]] = set()
    for mount in mounts:
        protocols = {words[0] for words in mount.transports if words}
        for protocol in sorted(protocols):
            labels = (mount.export, to_printable(protocol), addresses.get(mount.point, ""))
            yield INFO, (*labels, mount.point), 1
            if labels not in told:
                told.add(labels)
                yield from _figures(host, mount, labels)
                break


def _mountstats(host: Host) -> tuple[str, str]:
    try:
        return "1", host.proc.read("1/mountstats")
    except (FileNotFoundError, PermissionError):
        return "self", host.proc.read("self/mountstats")


def _mounts(text: str) -> Iterator[NfsMount]:
    mount: NfsMount | None = None
    for line in text.splitlines():
        words = line.split()
        if line.startswith("device "):
            if mount:
                yield mount
            nfs = len(words) > 7 and words[7] in ("nfs", "nfs4") and "statvers" in line
            mount = NfsMount(to_printable(words[1]), to_printable(words[4]), {}, [], {}) if nfs else None
        elif mount and words:
            key, _, _ = words[0].partition(":")
            if key == "xprt":
                mount.transports.append(words[1:])
            elif key in ("age", "events", "bytes"):
                mount.lines[key] = words[1:]
            elif "per-op" in mount.lines and words[0].endswith(":"):
                mount.operations[to_printable(key)] = words[1:]
            elif key == "per-op":
                mount.lines[key] = []
    if mount:
        yield mount


def _figures(host: Host, mount: NfsMount, labels: tuple[str, ...]) -> Iterator[Sample]:
    parts = [
        ((AGE,), labels, mount.lines.get("age", [])),
        (BYTES, labels, mount.lines.get("bytes", [])),
        (EVENTS, labels, mount.lines.get("events", [])),
    ]
    for place, (protocol, *words) in enumerate(filter(None, mount.transports)):
        wanted = TRANSPORT if protocol != "udp" else TRANSPORT[:1] + TRANSPORT[1 + UDP_HAS_NO :]
        # An RDMA transport goes on with numbers of its own, from where others tell their slots.
        wanted = wanted[: TRANSPORT.index(SLOTS)] if protocol == "rdma" else wanted
        parts.append((wanted, (*labels, str(place)), words[1:]))
    parts += [(OPERATIONS, (*labels, name), words) for name, words in mount.operations.items()]
    for metrics, of_which, words in parts:
        try:
            values: list[float] = [*parse_counters(words[: len(metrics)])]
        except ValueError as error:
            host.note(f"/proc/mountstats {mount.point}", error)
            continue
        if metrics is OPERATIONS:
            values = [value % LONG / 1000 if i in MILLISECONDS else value for i, value in enumerate(values)]
        for metric, series, value in zip(metrics, repeat(of_which), values):
            if metric:
                yield metric, series, value % LONG if metric is IDLE else value


def _addresses(mountinfo: str) -> dict[str, str]:
    """Return the server's address by mount point."""
    found = {}
    for line in mountinfo.splitlines():
        words, _, rest = line.partition(" - ")
        place = words.split()
        options = rest.split(" ")[-1].split(",")
        address = [option[5:] for option in options if option.startswith("addr=")]
        if address and len(place) > 4:
            found[to_printable(place[4])] = to_printable(address[0])
    return found


SOURCE = Source("mountstats", METRICS, read, default=False)
