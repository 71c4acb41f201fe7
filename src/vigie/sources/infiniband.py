"""InfiniBand and RoCE ports, from /sys/class/infiniband."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Metric, Sample, gauge, info
from vigie.sources._attributes import read_label, should_search
from vigie.sources._infiniband_counters import PORT, ROWS, CounterFile
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import parse_number, to_printable

METRICS = (
    INFO := info(
        "node_infiniband_info",
        "Board, firmware and type of the adapter.",
        *("device", "board_id", "firmware_version", "hca_type"),
    ),
    STATE := gauge(
        "node_infiniband_state_id", "Port state: 1 down, 2 init, 3 armed, 4 active, 5 deferred.", *PORT
    ),
    PHYSICAL := gauge(
        "node_infiniband_physical_state_id",
        "Physical state: 1 sleep, 2 polling, 3 disabled, 4 training, 5 up, 6 recovery, 7 test.",
        *PORT,
    ),
    RATE := gauge("node_infiniband_rate_bytes_per_second", "Maximum rate of the port.", *PORT),
    *(row.metric for row in ROWS),
)

TOP = "class/infiniband"
GIGABIT = 125_000_000  # bytes per second
RATE_TEXT = re.compile(r"^(\d{1,6}(?:\.\d{1,3})?) Gb/sec\b")
STATE_TEXT = re.compile(r"^(\d{1,3}):")


class Port(NamedTuple):
    """A port and its counter files."""

    labels: tuple[str, str]
    path: str
    rows: list[CounterFile]


def read(host: Host) -> Iterator[Sample]:
    """Yield every adapter, and the state and counters of every port."""
    devices = host.sys.list_directory(TOP)
    if not devices:
        raise Unavailable("no InfiniBand or RoCE adapter")
    if should_search(host) or host.cache["devices"] != devices:
        host.cache["devices"] = devices
        host.cache["ports"] = [port for device in devices for port in _find_ports(host, device)]
    for device in devices:
        path = f"{TOP}/{device}"
        facts = (read_label(host, f"{path}/{file}") for file in ("board_id", "fw_ver", "hca_type"))
        yield INFO, (to_printable(device), *facts), 1
    for port in host.cache["ports"]:
        yield from _build_port(host, port)


def _find_ports(host: Host, device: str) -> Iterator[Port]:
    top = f"{TOP}/{device}/ports"
    for name in host.sys.list_names(top):
        if name.isascii() and name.isdecimal():
            files = {
                f"{directory}/{file}"
                for directory in ("counters", "counters_ext", "hw_counters")
                for file in host.sys.list_names(f"{top}/{name}/{directory}")
            }
            rows = [row for row in ROWS if row.file in files]
            yield Port((to_printable(device), name), f"{top}/{name}", rows)


def _build_port(host: Host, port: Port) -> Iterator[Sample]:
    yield _match(host, STATE, port, "state", STATE_TEXT, 1)
    yield _match(host, PHYSICAL, port, "phys_state", STATE_TEXT, 1)
    yield _match(host, RATE, port, "rate", RATE_TEXT, GIGABIT)
    for row in port.rows:
        yield row.metric, port.labels, _parse_counter(host, f"{port.path}/{row.file}", row.scale)


def _match(host: Host, metric: Metric, port: Port, file: str, pattern: re.Pattern[str], scale: int) -> Sample:
    path = f"{port.path}/{file}"
    text = host.sys.read_text(path)
    match = pattern.match(text or "")
    if text is not None and match is None:
        host.note(f"/sys/{path}", f"unexpected value {text[:32]!r}")
    value = parse_number(match.group(1)) if match else None
    return metric, port.labels, None if value is None else value * scale


def _parse_counter(host: Host, path: str, scale: float) -> float | None:
    text = host.sys.read_text(path)
    if text is None or text.startswith("N/A"):  # "N/A (no PMA)": not supported by the adapter
        return None
    value = parse_number(text)
    if value is None or value < 0:
        host.note(f"/sys/{path}", f"invalid counter {text[:32]!r}")
        return None
    return value * scale


SOURCE = Source("infiniband", METRICS, read, slow=True)
