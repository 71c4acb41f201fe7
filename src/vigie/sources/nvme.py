"""NVMe controllers and namespaces, from /sys/class/nvme."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample, gauge, info
from vigie.sources._attributes import read_count, read_label, should_search
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    INFO := info(
        "node_nvme_info",
        "Model, firmware, serial number and state of the controller.",
        *("device", "firmware_revision", "model", "serial", "state"),
    ),
    SIZE := gauge("node_nvme_namespace_size_bytes", "Size of the namespace in bytes.", "device", "nsid"),
    BLOCK := gauge(
        "node_nvme_namespace_logical_block_size_bytes",
        "Logical block size of the namespace in bytes.",
        "device",
        "nsid",
    ),
)

CLASS = "class/nvme"
ATTRIBUTES = ("firmware_rev", "model", "serial")
# With multipath, the controller's number is in the middle: nvme0c1n1.
NAMESPACE = re.compile(r"^nvme\d+(?:c\d+)?n(\d+)$")


class Controller(NamedTuple):
    """Constant information of a controller."""

    path: str
    facts: tuple[str, ...]
    sizes: list[Sample]


def read(host: Host) -> Iterator[Sample]:
    """Yield every controller and the size of its namespaces."""
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("no NVMe controller")
    if should_search(host) or host.cache.get("names") != names:
        host.cache["names"], host.cache["controllers"] = names, list(_find_controllers(host, names))
    controllers: list[Controller] = host.cache["controllers"]
    for path, facts, sizes in controllers:
        yield INFO, (*facts, read_label(host, f"{path}/state")), 1
        yield from sizes


def _find_controllers(host: Host, names: list[str]) -> Iterator[Controller]:
    for name in names:
        path = f"{CLASS}/{name}"
        files = host.sys.list_names(path)
        if files:
            facts = (
                to_printable(name),
                *(read_label(host, f"{path}/{attribute}") for attribute in ATTRIBUTES),
            )
            yield Controller(path, facts, list(_find_sizes(host, name, path, files)))


def _find_sizes(host: Host, name: str, path: str, files: list[str]) -> Iterator[Sample]:
    for match in filter(None, map(NAMESPACE.match, files)):
        # Without nuse (used bytes): the kernel would query the disk.
        labels = (to_printable(name), match.group(1))
        sectors = read_count(host, f"{path}/{match.group()}/size")
        yield SIZE, labels, None if sectors is None else sectors * 512
        yield BLOCK, labels, read_count(host, f"{path}/{match.group()}/queue/logical_block_size")


SOURCE = Source("nvme", METRICS, read, every=60)
