"""What containers and jobs use, from their cgroups, under cAdvisor's names and labels.

Version 2 of cgroups tells no CPU time of single CPUs (cpu is "total" everywhere), and its memory.events
stands for what version 1 counts in failcnt. Version 1 has no pressure, but for what a hybrid machine has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Metric, Sample
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, check_seconds
from vigie.workload import container_metrics as metrics
from vigie.workload.attribution import Attribution, Attributor
from vigie.workload.cgroup import CgroupOwner
from vigie.workload.cgroup_stats import CgroupReader, CgroupStats
from vigie.workload.cgroup_tree import find_cgroups, find_trees
from vigie.workload.container_disk import ContainerDisks
from vigie.workload.container_metrics import METRICS, WHICH
from vigie.workload.container_network import NetworkNamespaces
from vigie.workload.runtimes import Container


def _seconds_or_off(text: str) -> None:
    if text != "off":
        check_seconds(text)


OPTIONS = (
    SourceOption(
        "sockets", "", "Sockets of Docker or Podman, by blanks; those at the usual places if empty."
    ),
    SourceOption(
        "labels", "", "Labels of containers to give as container_label_NAME on every series, by blanks."
    ),
    SourceOption(
        "disk_usage",
        "300",
        "Seconds between two questions to the runtime how much containers have written; `off`: none.",
        _seconds_or_off,
    ),
)
MAX_LABELS = 16
LOOKED_AT = 8  # processes of a cgroup, until one tells whom it runs for
MAX_DEVICES = 64


class _Owned(NamedTuple):
    """Whom a cgroup is for, as one of its processes tells."""

    pids: tuple[int, ...]
    attribution: Attribution | None


class ContainerReader:
    """Reads all containers of a machine; keeps what seldom changes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        sockets, labels, disk = (host.options.get(one.name, one.default) for one in OPTIONS)
        self._trees = find_trees(host)
        self._cgroups = CgroupReader(host, self._trees)
        self._attributor = Attributor(host, sockets)
        self._networks = NetworkNamespaces(host)
        self._disks = None if disk == "off" else ContainerDisks(host, self._attributor.runtimes, float(disk))
        self._labels = labels.split()[:MAX_LABELS]
        self._metrics = {metric: self._labelled(metric) for metric in METRICS}
        self._owned: dict[str, _Owned] = {}
        self._devices: dict[str, str] = {}

    def read(self) -> Iterator[Sample]:
        """Yield what every container and job uses, and say whose each is."""
        found = find_cgroups(self._host, self._trees)
        runtimes = self._attributor.runtimes
        known = runtimes.find({owner.container for owner in found.values() if owner.container})
        found.update((one.cgroup, CgroupOwner("containerd", one.id)) for one in runtimes.named())
        known.update((one.id, one) for one in runtimes.named())
        self._cgroups.next_turn({"", *found})
        self._networks.next_turn()
        self._owned = {path: owned for path, owned in self._owned.items() if path in found}
        usage = self._disks.usage(known) if self._disks else {}
        yield from self._plain(("/", "", ""), self._cgroups.read(""), None)
        for path, owner in found.items():
            container = known.get(owner.container) or _nameless(owner)
            which = path, container.label if container else "", container.image if container else ""
            yield from self._container(path, which, container)
            disk = usage.get(owner.container)
            if disk:
                labels = (*which, *self._values(container), disk.device)
                yield self._metrics[metrics.DISK_USAGE], labels, disk.used_bytes
                yield self._metrics[metrics.DISK_LIMIT], labels, disk.size_bytes
        yield from _machine(self._host)

    def _container(
        self, path: str, which: tuple[str, str, str], container: Container | None
    ) -> Iterator[Sample]:
        pids = self._cgroups.processes(path)
        attribution = self._attribution(path, pids)
        yield from self._plain(which, self._cgroups.read(path), container)
        labels = (*which, *self._values(container))
        yield self._metrics[metrics.PROCESSES], labels, len(pids)
        if attribution:
            yield self._metrics[metrics.START_TIME], labels, attribution.process.start_ms / 1000
            self._bind(path, container, attribution)
        if container and pids:
            for interface, counters in self._networks.counters(pids[0]):
                for metric, value in zip(metrics.NETWORK, counters):
                    yield self._metrics[metric], (*labels, interface), value

    def _plain(
        self, which: tuple[str, str, str], stats: CgroupStats, container: Container | None
    ) -> Iterator[Sample]:
        labels, figures, spelled = (*which, *self._values(container)), stats.figures, self._metrics
        yield spelled[metrics.LAST_SEEN], labels, int(self._host.calls.time())
        if "cpu" in figures:
            yield spelled[metrics.CPU], (*labels, "total"), figures["cpu"]
        for word, metric in metrics.FIGURES:
            if word in figures and (word not in metrics.OF_QUOTA or "quota" in figures):
                yield spelled[metric], labels, figures[word]
        if "memory" in figures:
            used = figures["memory"] - figures.get("inactive_file", 0)
            yield spelled[metrics.WORKING_SET], labels, max(used, 0)
        yield from self._faults_and_devices(labels, stats)

    def _faults_and_devices(self, labels: tuple[str, ...], stats: CgroupStats) -> Iterator[Sample]:
        for word, kind in (("faults", "pgfault"), ("major_faults", "pgmajfault")):
            if word in stats.figures:
                for scope in ("container", "hierarchy"):
                    yield self._metrics[metrics.FAILURES], (*labels, kind, scope), stats.figures[word]
        for device, numbers in stats.devices.items():
            name = self._device(device)
            for word, metric in metrics.DEVICE_FIGURES:
                if word in numbers:
                    yield self._metrics[metric], (*labels, name), numbers[word]

    def _attribution(self, path: str, pids: list[int]) -> Attribution | None:
        """Return whom a cgroup is for, from the first of its processes that knows."""
        known = self._owned.get(path)
        if known is None or known.attribution is None or known.attribution.process.pid not in pids:
            first = sorted(pids)[:LOOKED_AT]
            if known is None or known.pids != tuple(first):
                found = [one for one in self._attributor.attribute(first).values() if one.process]
                told = next((one for one in found if one.job and one.user != "root"), None)
                known = self._owned[path] = _Owned(tuple(first), told or next(iter(found), None))
        return known.attribution

    def _bind(self, path: str, container: Container | None, told: Attribution) -> None:
        begin = told.process.start_ms
        if container:
            facts = {"image": container.image, "job": told.job, "pod": told.pod}
            facts = {name: text for name, text in facts.items() if text}
            self._host.bind(
                f"cgroup:{path}", "container", container.label, from_ms=begin, user=told.user, **facts
            )
        elif told.job:
            facts = next((one.facts for one in told.holders() if one.kind == "job"), {})
            self._host.bind(f"cgroup:{path}", "job", told.job, from_ms=begin, user=told.user, **facts)

    def _device(self, number: str) -> str:
        """Return a block device's path, by its number."""
        if number not in self._devices:
            if len(self._devices) > MAX_DEVICES:
                self._devices.clear()
            text = self._host.sys.read_text(f"dev/block/{number}/uevent") or ""
            found = re.search(r"^DEVNAME=(\S+)$", text, re.MULTILINE)
            self._devices[number] = f"/dev/{found[1]}" if found else number
        return self._devices[number]

    def _labelled(self, metric: Metric) -> Metric:
        """Return the metric with the labels of containers that were asked for, behind the usual ones."""
        if not self._labels or metric.labels[: len(WHICH)] != WHICH:
            return metric
        more = (f"container_label_{re.sub('[^a-zA-Z0-9_]', '_', name)}" for name in self._labels)
        return metric._replace(labels=(*WHICH, *dict.fromkeys(more), *metric.labels[len(WHICH) :]))

    def _values(self, container: Container | None) -> tuple[str, ...]:
        if not self._labels:
            return ()
        return tuple(container.labels.get(name, "") if container else "" for name in self._labels)


def _nameless(owner: CgroupOwner) -> Container | None:
    return Container(owner.container, owner.runtime) if owner.container else None


def _machine(host: Host) -> Iterator[Sample]:
    text = host.proc.read("meminfo")
    for name, metric in (("MemTotal", metrics.MEMORY), ("SwapTotal", metrics.SWAP)):
        found = re.search(rf"^{name}:\s+(\d{{1,15}}) kB$", text, re.MULTILINE)
        if found:
            yield metric, (), int(found[1]) * 1024
    online = host.sys.read_text("devices/system/cpu/online")
    if online:
        yield metrics.CORES, (), _count(online)


def _count(ranges: str) -> float | None:
    """Return how many numbers a list such as 0-3,8 has."""
    total = 0
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            return None
        total += int(last or first) - int(first) + 1
    return total


def read(host: Host) -> Iterator[Sample]:
    """Yield what containers use."""
    reader: ContainerReader = host.cache.get("reader") or ContainerReader(host)
    host.cache["reader"] = reader
    yield from reader.read()


SOURCE = Source("containers", METRICS, read, slow=True, options=OPTIONS)
