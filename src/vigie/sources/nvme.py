"""NVMe controllers and namespaces, from /sys/class/nvme."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample, gauge, info
from vigie.sources._attributes import read_count, read_label, should_search
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    INFO := info(
        "node_nvme_info",
        "Model, firmware, serial number and state of the controller.",
        *("device", "cntlid", "firmware_revision", "model", "serial", "state"),
    ),
    NAMESPACE_INFO := info(
        "node_nvme_namespace_info",
        "Namespaces of the controller, with the ANA state of the path.",
        *("device", "nsid", "ana_state"),
    ),
    CAPACITY := gauge(
        "node_nvme_namespace_capacity_bytes", "Capacity of the namespace in bytes.", "device", "nsid"
    ),
    SIZE := gauge("node_nvme_namespace_size_bytes", "Size of the namespace in bytes.", "device", "nsid"),
    BLOCK := gauge(
        "node_nvme_namespace_logical_block_size_bytes",
        "Logical block size of the namespace in bytes.",
        "device",
        "nsid",
    ),
    USED := gauge("node_nvme_namespace_used_bytes", "Used bytes of the namespace.", "device", "nsid"),
)

USED_BYTES = SourceOption(
    "used", "off", "on: also report used bytes of each namespace. The kernel queries the disk for them."
)

SECTOR = 512
CLASS = "class/nvme"
ATTRIBUTES = ("cntlid", "firmware_rev", "model", "serial")
# With multipath, the controller's number is in the middle: nvme0c1n1.
NAMESPACE = re.compile(r"^nvme\d+(?:c\d+)?n(\d+)$")


class Namespace(NamedTuple):
    """Path, labels and block size of a namespace."""

    path: str
    labels: tuple[str, str]
    block: float | None


class Controller(NamedTuple):
    """Constant information of a controller."""

    path: str
    facts: tuple[str, ...]
    sizes: list[Sample]
    namespaces: list[Namespace]


def read(host: Host) -> Iterator[Sample]:
    """Yield every controller and the size of its namespaces."""
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("no NVMe controller")
    if should_search(host) or host.cache.get("names") != names:
        host.cache["names"], host.cache["controllers"] = names, list(_find_controllers(host, names))
    controllers: list[Controller] = host.cache["controllers"]
    for path, facts, sizes, namespaces in controllers:
        yield INFO, (*facts, read_label(host, f"{path}/state")), 1
        yield from sizes
        for namespace in namespaces:
            yield from _read_state(host, namespace)


def _find_controllers(host: Host, names: list[str]) -> Iterator[Controller]:
    for name in names:
        path = f"{CLASS}/{name}"
        files = host.sys.list_names(path)
        if files:
            facts = (
                to_printable(name),
                *(read_label(host, f"{path}/{attribute}") for attribute in ATTRIBUTES),
            )
            namespaces = [
                Namespace(
                    f"{path}/{match.group()}",
                    (to_printable(name), match.group(1)),
                    read_count(host, f"{path}/{match.group()}/queue/logical_block_size"),
                )
                for match in filter(None, map(NAMESPACE.match, files))
            ]
            yield Controller(path, facts, list(_read_sizes(host, namespaces)), namespaces)


def _read_sizes(host: Host, namespaces: list[Namespace]) -> Iterator[Sample]:
    for path, labels, block in namespaces:
        sectors = read_count(host, f"{path}/size")  # of 512 bytes, whatever the blocks are
        size = None if sectors is None else sectors * SECTOR
        yield SIZE, labels, size
        yield CAPACITY, labels, size
        yield BLOCK, labels, block


def _read_state(host: Host, namespace: Namespace) -> Iterator[Sample]:
    path, labels, block = namespace
    yield NAMESPACE_INFO, (*labels, read_label(host, f"{path}/ana_state") or "unknown"), 1
    if host.options.get(USED_BYTES.name) == "on" and block:
        used = read_count(host, f"{path}/nuse")
        yield USED, labels, None if used is None else used * block


SOURCE = Source("nvme", METRICS, read, every=60, options=(USED_BYTES,))
