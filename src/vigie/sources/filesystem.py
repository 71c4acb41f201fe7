"""Space on mounted file systems, from mountinfo and statvfs(2). A hanging mount affects only itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample, gauge, info
from vigie.sources._attributes import compile_option
from vigie.sources.core.host import Host, Statvfs, SystemCalls
from vigie.sources.core.lane import Lane, run_all
from vigie.sources.core.source import Source, SourceOption, check_regex, check_seconds
from vigie.sources.core.tree import to_printable

LABELS = ("device", "fstype", "mountpoint")

METRICS = (
    SIZE := gauge("node_filesystem_size_bytes", "Size of the file system in bytes.", *LABELS),
    FREE := gauge("node_filesystem_free_bytes", "Free bytes, including those reserved for root.", *LABELS),
    AVAILABLE := gauge("node_filesystem_avail_bytes", "Bytes available to non-root users.", *LABELS),
    FILES := gauge("node_filesystem_files", "Total inodes.", *LABELS),
    FILES_FREE := gauge("node_filesystem_files_free", "Free inodes.", *LABELS),
    READ_ONLY := gauge("node_filesystem_readonly", "1 if the file system is mounted read-only.", *LABELS),
    # Empty labels are omitted, so a healthy mount has only the first three.
    DEVICE_ERROR := gauge(
        "node_filesystem_device_error",
        "1 if statvfs failed or timed out; for NFS, its server may be unreachable.",
        *LABELS,
        "device_error",
    ),
    MOUNT := info(
        "node_filesystem_mount_info",
        "Device numbers of the mount.",
        *("device", "major", "minor", "mountpoint"),
    ),
)

EXCLUDE_MOUNTS = SourceOption(
    "exclude_mounts",
    r"^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)",
    "Mount points to exclude, as a regular expression.",
    check_regex,
)
EXCLUDE_TYPES = SourceOption(
    "exclude_types",
    r"^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl|hugetlbfs|iso9660|mqueue|nsfs"
    r"|overlay|proc|procfs|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs)$",
    "File system types to exclude, as a regular expression.",
    check_regex,
)
DEADLINE = SourceOption("deadline", "5", "Timeout of statvfs in seconds.", check_seconds)

# statvfs of these is answered from kernel memory, so it is called directly. Any other type may
# wait for a server or a program forever.
LOCAL_TYPES = frozenset(
    {"btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "ramfs", "tmpfs", "vfat", "xfs", "zfs"}
)

ESCAPE = re.compile(r"\\([0-3][0-7]{2})")


class Mount(NamedTuple):
    identity: tuple[str, str]  # mount id, mount point
    path: str
    labels: tuple[str, str, str]
    major: str
    minor: str


class StatvfsCall:
    """A statvfs call that may return long after its deadline."""

    def __init__(self, calls: SystemCalls, path: str) -> None:
        self._calls, self._path = calls, path
        self.done = False
        self.result: Statvfs | None = None
        self.error: Exception | None = None

    def __call__(self) -> None:
        """Call statvfs, and keep the result."""
        try:
            self.result = self._calls.statvfs(self._path)
        except (OSError, ValueError) as error:  # ValueError: NUL in the path
            self.error = error
        self.done = True


def read(host: Host) -> Iterator[Sample]:
    """Yield the space of every mount, or an error."""
    for mount, question in _call_statvfs(host, _read_mounts(host)):
        if not question.done:
            host.note(mount.labels[2], "timed out; retried when its last call returns")
            yield DEVICE_ERROR, (*mount.labels, "mountpoint timeout"), 1
            continue
        if question.result is None:
            host.note(mount.labels[2], question.error)
            yield DEVICE_ERROR, (*mount.labels, ""), 1
            continue
        size, free, available, files, files_free, read_only = question.result
        yield SIZE, mount.labels, size
        yield FREE, mount.labels, free
        yield AVAILABLE, mount.labels, available
        yield FILES, mount.labels, files
        yield FILES_FREE, mount.labels, files_free
        yield READ_ONLY, mount.labels, int(read_only)
        yield DEVICE_ERROR, (*mount.labels, ""), 0
        device, _, point = mount.labels
        yield MOUNT, (device, mount.major, mount.minor, point), 1


def _call_statvfs(host: Host, mounts: list[Mount]) -> list[tuple[Mount, StatvfsCall]]:
    stuck: dict[tuple[str, str], StatvfsCall] = host.cache.get("stuck", {})
    stuck = {identity: question for identity, question in stuck.items() if not question.done}
    asked = [(mount, stuck.get(mount.identity) or StatvfsCall(host.calls, mount.path)) for mount in mounts]
    doubtful = []
    for mount, question in asked:
        if mount.labels[1] in LOCAL_TYPES:
            question()
        elif mount.identity not in stuck:
            doubtful.append(question)
    if doubtful:
        deadline = float(host.options.get(DEADLINE.name, DEADLINE.default))
        lane = host.cache.setdefault("lane", Lane("statvfs", deadline))
        # Mounts often share a server: while some hang, the others get less time.
        lane.deadline = deadline / 10 if stuck else deadline
        run_all(lane, doubtful)
    host.cache["stuck"] = {mount.identity: question for mount, question in asked if not question.done}
    return asked


def _read_mounts(host: Host) -> list[Mount]:
    try:
        text = host.proc.read("1/mountinfo")
    except OSError:  # a process of another user or namespace
        text = host.proc.read("self/mountinfo")
    if host.cache.get("mountinfo") != text:
        host.cache["mounts"] = _parse_mounts(host, text)
        host.cache["mountinfo"] = text
    mounts: list[Mount] = host.cache["mounts"]
    return mounts


def _parse_mounts(host: Host, text: str) -> list[Mount]:
    excluded_mounts, excluded_types = (
        compile_option(host, EXCLUDE_MOUNTS),
        compile_option(host, EXCLUDE_TYPES),
    )
    visible: dict[str, Mount] = {}
    for line in filter(None, text.split("\n")):
        words, _, tail = line.partition(" - ")
        fields, ending = words.split(" "), tail.split(" ")
        if len(fields) < 6 or len(ending) < 2 or ":" not in fields[2]:
            host.note(f"mountinfo {line[:40]}", "truncated line")
            continue
        point = _without_root(host, ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), fields[4]))
        if excluded_mounts.search(point) or excluded_types.search(ending[0]):
            continue
        labels = (to_printable(ending[1]), to_printable(ending[0]), to_printable(point))
        major, _, minor = fields[2].partition(":")
        # Of several mounts at one point, the last one hides the others.
        path = point if host.root.top == "/" else host.root.top + point
        visible[point] = Mount((fields[0], point), path, labels, major, minor)
    return list(visible.values())


def _without_root(host: Host, point: str) -> str:
    top = host.root.top
    if top != "/" and (point + "/").startswith(top + "/"):
        return point[len(top) :] or "/"
    return point


SOURCE = Source("filesystem", METRICS, read, slow=True, options=(EXCLUDE_MOUNTS, EXCLUDE_TYPES, DEADLINE))
