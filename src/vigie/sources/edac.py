"""ECC memory errors, from /sys/devices/system/edac."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Metric, Sample, counter
from vigie.sources._attributes import read_count, read_label
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

CHANNEL = ("controller", "csrow", "channel", "dimm_label")

METRICS = (
    CORRECTED := counter(
        "node_edac_correctable_errors_total",
        "Correctable memory errors by controller.",
        "controller",
    ),
    UNCORRECTED := counter(
        "node_edac_uncorrectable_errors_total", "Uncorrectable memory errors by controller.", "controller"
    ),
    ROW_CORRECTED := counter(
        "node_edac_csrow_correctable_errors_total",
        "Correctable memory errors by csrow. Row unknown: not attributed.",
        *("controller", "csrow"),
    ),
    ROW_UNCORRECTED := counter(
        "node_edac_csrow_uncorrectable_errors_total",
        "Uncorrectable memory errors by csrow. Row unknown: not attributed.",
        *("controller", "csrow"),
    ),
    CHANNEL_CORRECTED := counter(
        "node_edac_channel_correctable_errors_total",
        "Correctable memory errors by channel, with the label of the DIMM.",
        *CHANNEL,
    ),
    CHANNEL_UNCORRECTED := counter(
        "node_edac_channel_uncorrectable_errors_total",
        "Uncorrectable memory errors by channel, if the driver reports them.",
        *CHANNEL,
    ),
)

TOP = "devices/system/edac/mc"
CONTROLLER = re.compile(r"^mc(\d+)$")
ROW = re.compile(r"^csrow(\d+)$")
CHANNEL_COUNT = re.compile(r"^ch(\d+)_(ce|ue)_count$")


class ChipRow(NamedTuple):
    """A csrow and the files of its channels."""

    labels: tuple[str, str]
    path: str
    channels: list[tuple[Metric, tuple[str, ...], str]]


class EdacLayout(NamedTuple):
    """Files to read; constant while a driver is loaded."""

    controllers: list[tuple[Metric, tuple[str, ...], str]]
    rows: list[ChipRow]


def read(host: Host) -> Iterator[Sample]:
    """Yield the errors of every controller, row and channel."""
    names = host.sys.list_directory(TOP)
    if host.cache.get("names") != names:
        host.cache.clear()
        host.cache["names"], host.cache["plan"] = names, _build_layout(host, names)
    plan: EdacLayout = host.cache["plan"]
    if not plan.controllers:
        raise Unavailable("no EDAC driver is loaded")
    for metric, labels, path in plan.controllers:
        yield metric, labels, read_count(host, path)
    for row in plan.rows:
        yield from _read_row(host, row)


def _read_row(host: Host, row: ChipRow) -> Iterator[Sample]:
    counts = [read_count(host, f"{row.path}/ce_count"), read_count(host, f"{row.path}/ue_count")]
    yield ROW_CORRECTED, row.labels, counts[0]
    yield ROW_UNCORRECTED, row.labels, counts[1]
    # A row is the sum of its channels, so these are read only when it changed.
    before, samples = host.cache.get(row.path, (None, []))
    if None in counts or before != counts:
        samples = [(metric, labels, read_count(host, path)) for metric, labels, path in row.channels]
        host.cache[row.path] = (counts, samples)
    yield from samples


def _build_layout(host: Host, names: list[str]) -> EdacLayout:
    plan = EdacLayout([], [])
    for match in filter(None, map(CONTROLLER.match, names)):
        number, path = match.group(1), f"{TOP}/{match.group()}"
        plan.controllers.extend(
            [
                (CORRECTED, (number,), f"{path}/ce_count"),
                (UNCORRECTED, (number,), f"{path}/ue_count"),
                (ROW_CORRECTED, (number, "unknown"), f"{path}/ce_noinfo_count"),
                (ROW_UNCORRECTED, (number, "unknown"), f"{path}/ue_noinfo_count"),
            ]
        )
        for row in filter(None, map(ROW.match, host.sys.list_names(path))):
            plan.rows.append(_build_row(host, (number, row.group(1)), f"{path}/{row.group()}"))
    return plan


def _build_row(host: Host, labels: tuple[str, str], path: str) -> ChipRow:
    row = ChipRow(labels, path, [])
    for file in filter(None, map(CHANNEL_COUNT.match, host.sys.list_names(path))):
        channel, kind = file.groups()
        dimm = _dimm(read_label(host, f"{path}/ch{channel}_dimm_label"))
        metric = CHANNEL_CORRECTED if kind == "ce" else CHANNEL_UNCORRECTED
        row.channels.append((metric, (*labels, channel, dimm), f"{path}/{file.group()}"))
    return row


def _dimm(text: str) -> str:
    """Return the label of a module as node exporter spells it."""
    return text.replace("#", "").replace("csrow", "_csrow").replace("channel", "_channel") or "unknown"


SOURCE = Source("edac", METRICS, read)
