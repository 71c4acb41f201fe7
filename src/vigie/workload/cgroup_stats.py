"""What a cgroup uses, from its files: the same figures from version 1 and version 2."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vigie.sources.core.host import Host
from vigie.sources.core.tree import parse_number
from vigie.workload.cgroup_tree import CgroupTrees

UNLIMITED = 1 << 60  # version 1 writes the largest number of pages for no limit
OFTEN, SELDOM = 3, 12  # reads from one look at a file that hardly changes to the next
QUIET = (errno.ENODEV, errno.EOPNOTSUPP)  # the cgroup has just gone; pressure is switched off
DIGITS = 20
MICRO, NANO = 1e-6, 1e-9
ALONE = ""  # stands for the one number in a file
Figures = dict[str, float]  # by what they are
DeviceFigures = dict[str, Figures]  # by device, as MAJOR:MINOR


class CgroupFile(NamedTuple):
    """A file of a controller, and which of its numbers is which figure, in units of what."""

    controller: str
    name: str
    words: Mapping[str, tuple[str, float]]


def _plain(**words: str) -> dict[str, tuple[str, float]]:
    return {name: (word, 1) for name, word in words.items()}


PERIODS = _plain(nr_periods="periods", nr_throttled="throttled_periods")
THREADS = CgroupFile("pids", "pids.current", {ALONE: ("threads", 1)})
HOT_2 = (
    CgroupFile(
        "cpu",
        "cpu.stat",
        {
            "usage_usec": ("cpu", MICRO),
            "user_usec": ("cpu_user", MICRO),
            "system_usec": ("cpu_system", MICRO),
            "throttled_usec": ("throttled", MICRO),
            **PERIODS,
        },
    ),
    CgroupFile(
        "memory",
        "memory.stat",
        _plain(
            file="cache",
            anon="rss",
            file_mapped="mapped",
            inactive_file="inactive_file",
            active_file="active_file",
            kernel="kernel",
            pgfault="faults",
            pgmajfault="major_faults",
        ),
    ),
    CgroupFile("memory", "memory.current", {ALONE: ("memory", 1)}),
    THREADS,
)
WARM_2 = (
    CgroupFile("memory", "memory.events", _plain(max="memory_hits", oom_kill="oom_kills")),
    CgroupFile("memory", "memory.swap.current", {ALONE: ("swap", 1)}),
    CgroupFile("memory", "memory.peak", {ALONE: ("memory_peak", 1)}),
)
HOT_1 = (
    CgroupFile("cpuacct", "cpuacct.usage", {ALONE: ("cpu", NANO)}),
    CgroupFile("cpuacct", "cpuacct.stat", {"user": ("cpu_user", 0.01), "system": ("cpu_system", 0.01)}),
    CgroupFile("cpu", "cpu.stat", {"throttled_time": ("throttled", NANO), **PERIODS}),
    CgroupFile(
        "memory",
        "memory.stat",  # with total_ for the cgroup and all below it
        _plain(
            total_cache="cache",
            total_rss="rss",
            total_mapped_file="mapped",
            total_swap="swap",
            total_inactive_file="inactive_file",
            total_active_file="active_file",
            total_pgfault="faults",
            total_pgmajfault="major_faults",
        ),
    ),
    CgroupFile("memory", "memory.usage_in_bytes", {ALONE: ("memory", 1)}),
    THREADS,
)
WARM_1 = (
    CgroupFile("memory", "memory.oom_control", _plain(oom_kill="oom_kills")),
    CgroupFile("memory", "memory.failcnt", {ALONE: ("memory_hits", 1)}),
    CgroupFile("memory", "memory.max_usage_in_bytes", {ALONE: ("memory_peak", 1)}),
    CgroupFile("memory", "memory.kmem.usage_in_bytes", {ALONE: ("kernel", 1)}),
)
LIMITS_2 = (("memory", "memory.max", "memory_limit"), ("memory", "memory.swap.max", "swap_limit"))
LIMITS_1 = (
    ("memory", "memory.limit_in_bytes", "memory_limit"),
    ("memory", "memory.memsw.limit_in_bytes", "swap_limit"),
    ("memory", "memory.soft_limit_in_bytes", "memory_reservation"),
)
LIMIT_OF_THREADS = ("pids", "pids.max", "threads_limit")
CPU_1 = (("cpu.cfs_quota_us", "quota"), ("cpu.cfs_period_us", "period"), ("cpu.shares", "shares"))
IO_2 = {"rbytes": "read_bytes", "wbytes": "write_bytes", "rios": "reads", "wios": "writes"}
IO_1 = (
    ("blkio.throttle.io_service_bytes_recursive", {"Read": "read_bytes", "Write": "write_bytes"}),
    ("blkio.throttle.io_serviced_recursive", {"Read": "reads", "Write": "writes"}),
)


class CgroupStats(NamedTuple):
    """All that is known of a cgroup; what its kernel or version does not tell is not there."""

    figures: Figures
    devices: DeviceFigures


class CgroupReader:
    """Reads cgroups; what hardly changes, and what is not there, is looked at only now and then."""

    def __init__(self, host: Host, trees: CgroupTrees) -> None:
        self._host, self._trees = host, trees
        self._hot: tuple[CgroupFile, ...] = HOT_2 if trees.version == 2 else HOT_1
        self._warm: tuple[CgroupFile, ...] = WARM_2 if trees.version == 2 else WARM_1
        self._kept: dict[tuple[str, int], Figures] = {}
        self._absent: set[str] = set()
        self._turn = 0

    def next_turn(self, present: set[str]) -> None:
        """Begin another read of all cgroups that are there."""
        self._turn += 1
        self._kept = {key: kept for key, kept in self._kept.items() if key[0] in present}
        if self._turn % SELDOM == 0:
            self._absent.clear()

    def read(self, path: str) -> CgroupStats:
        """Return what a cgroup uses now."""
        figures: Figures = {}
        for file in self._hot:
            self._take(file, path, figures)
        if "memory" not in figures and "rss" in figures and "cache" in figures:
            figures["memory"] = (
                figures["rss"] + figures["cache"]
            )  # of version 2's root, which has no such file
        self._pressure(path, figures)
        for every in (OFTEN, SELDOM):
            figures.update(self._seldom(path, every))
        return CgroupStats(
            figures, self._devices_2(path) if self._trees.version == 2 else self._devices_1(path)
        )

    def processes(self, path: str, depth: int = 4) -> list[int]:
        """Return the processes of a cgroup, or where it has none itself, of those below it."""
        root = f"{self._trees.walked}{path}"
        try:
            text = self._host.sys.read_short(f"{root}/cgroup.procs")
        except OSError:
            text = ""  # a threaded cgroup does not tell
        found = [int(word) for word in text.split() if is_number(word)]
        if not found and depth:
            for name in self._host.sys.list_folders(root)[:64]:
                found += self.processes(f"{path}/{name}", depth - 1)
        return found

    def _seldom(self, path: str, every: int) -> Figures:
        """Return what hardly changes; each cgroup has its own turn, so that all do not come at once."""
        key = path, every
        if key not in self._kept or (self._turn + hash(path)) % every == 0:
            figures = self._kept[key] = {}
            if every == OFTEN:
                for file in self._warm:
                    self._take(file, path, figures)
            else:
                figures.update(self._limits_2(path) if self._trees.version == 2 else self._limits_1(path))
        return self._kept[key]

    def _text(self, controller: str, path: str, name: str) -> str:
        root = self._trees.root(controller)
        return self._file(f"{root}{path}/{name}") if root else ""

    def _file(self, path: str) -> str:
        if path in self._absent:
            return ""
        try:
            return self._host.sys.read_short(path)
        except FileNotFoundError:
            self._absent.add(path)
        except OSError as error:
            if error.errno not in QUIET:
                self._host.sys.note_error(path, error)
        return ""

    def _take(self, file: CgroupFile, path: str, figures: Figures) -> None:
        text = self._text(file.controller, path, file.name)
        if ALONE in file.words:
            pairs = {ALONE: text.strip()}
        else:
            words = text.split()
            pairs = dict(zip(words[::2], words[1::2]))
        for name, (word, unit) in file.words.items():
            value = pairs.get(name, "")
            if is_number(value):
                figures[word] = int(value) if unit == 1 else int(value) * unit

    def _devices_2(self, path: str) -> DeviceFigures:
        found: DeviceFigures = {}
        for line in self._text("io", path, "io.stat").splitlines():
            device, _, rest = line.partition(" ")
            pairs = (word.partition("=") for word in rest.split())
            figures: Figures = {
                IO_2[name]: int(text) for name, _, text in pairs if name in IO_2 and is_number(text)
            }
            if figures and ":" in device:
                found[device] = figures
        return found

    def _devices_1(self, path: str) -> DeviceFigures:
        found: DeviceFigures = {}
        for name, words in IO_1:
            for line in self._text("blkio", path, name).splitlines():
                row = line.split()
                if len(row) == 3 and row[1] in words and is_number(row[2]) and ":" in row[0]:
                    found.setdefault(row[0], {})[words[row[1]]] = int(row[2])
        return found

    def _pressure(self, path: str, figures: Figures) -> None:
        root = self._trees.pressure
        for what in ("cpu", "memory", "io") if root else ():
            for line in self._file(f"{root}{path}/{what}.pressure").splitlines():
                kind, total = line[:4], line.rpartition("total=")[2]
                if kind in ("some", "full") and is_number(total):
                    figures[f"{what}_{kind}"] = int(total) * MICRO

    def _limits_2(self, path: str) -> Iterator[tuple[str, float]]:
        quota = self._text("cpu", path, "cpu.max").split()
        if len(quota) == 2 and is_number(quota[1]):
            yield "period", int(quota[1])
            if is_number(quota[0]):
                yield "quota", int(quota[0])
        weight = parse_number(self._text("cpu", path, "cpu.weight").strip())
        if weight and weight > 0:
            yield "shares", int(2 + (weight - 1) * 262142 / 9999)  # as cAdvisor turns one into the other
        for controller, name, word in (*LIMITS_2, LIMIT_OF_THREADS):
            yield from _limit(word, self._text(controller, path, name))

    def _limits_1(self, path: str) -> Iterator[tuple[str, float]]:
        for name, word in CPU_1:
            value = parse_number(self._text("cpu", path, name).strip())
            if value is not None and value > 0:  # -1 is no quota
                yield word, value
        for controller, name, word in (*LIMITS_1, LIMIT_OF_THREADS):
            yield from _limit(word, self._text(controller, path, name))


def is_number(text: str) -> bool:
    """Tell whether a text is a number that a kernel writes."""
    return text.isdecimal() and len(text) <= DIGITS


def _limit(word: str, text: str) -> Iterator[tuple[str, float]]:
    """Yield a limit, which is 0 where there is none, as in cAdvisor."""
    text = text.strip()
    if text == "max":
        yield word, 0
    elif is_number(text):
        yield word, int(text) if int(text) < UNLIMITED else 0
