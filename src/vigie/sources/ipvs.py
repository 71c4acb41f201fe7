"""Load balancing in the kernel (IPVS), from /proc/net/ip_vs and ip_vs_stats."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import LIMIT, to_printable

BACKEND = ("local_address", "local_port", "remote_address", "remote_port", "proto", "local_mark")

# The columns of the one line of numbers in ip_vs_stats.
TOTALS = (
    counter("node_ipvs_connections_total", "Connections that were balanced."),
    counter("node_ipvs_incoming_packets_total", "Packets that came in."),
    counter("node_ipvs_outgoing_packets_total", "Packets that went out."),
    counter("node_ipvs_incoming_bytes_total", "Bytes that came in."),
    counter("node_ipvs_outgoing_bytes_total", "Bytes that went out."),
)
METRICS = (
    *TOTALS,
    WEIGHT := gauge("node_ipvs_backend_weight", "Share of connections that the backend gets.", *BACKEND),
    ACTIVE := gauge("node_ipvs_backend_connections_active", "Connections in use.", *BACKEND),
    INACTIVE := gauge("node_ipvs_backend_connections_inactive", "Connections about to end.", *BACKEND),
)
COLUMNS = (WEIGHT, ACTIVE, INACTIVE)
LINE_OF_TOTALS = 2
PROTOCOLS = ("TCP", "UDP", "SCTP")
MARK = "FWM"  # a service found by the firewall's mark instead of an address

Service = tuple[str, str, str, str]  # address, port, protocol, mark


def read(host: Host) -> Iterator[Sample]:
    """Yield the totals, then every backend."""
    yield from _totals(host, host.proc.read("net/ip_vs_stats").splitlines())
    sums: dict[tuple[str, ...], list[int]] = {}
    for labels, values in _backends(host, (host.proc.read_text("net/ip_vs") or "").splitlines()):
        sums[labels] = [a + b for a, b in zip(sums.get(labels, [0, 0, 0]), values)]
    for labels, values in sums.items():
        yield from ((metric, labels, value) for metric, value in zip(COLUMNS, values))


def _totals(host: Host, lines: list[str]) -> Iterator[Sample]:
    words = lines[LINE_OF_TOTALS].split() if len(lines) > LINE_OF_TOTALS else []
    try:
        values = [int(word, 16) for word in words]
        if len(values) != len(TOTALS) or not all(0 <= value < LIMIT for value in values):
            raise ValueError("not five hexadecimal counts")
    except ValueError as error:
        host.note("/proc/net/ip_vs_stats", error)
        return
    yield from ((metric, (), value) for metric, value in zip(TOTALS, values))


def _backends(host: Host, lines: list[str]) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    service: Service | None = None
    for line in lines:
        words = line.split()
        try:
            if words and words[0] in (*PROTOCOLS, MARK):
                service = None  # what follows a garbled one is nobody's
                service = _service(words)
            elif service and len(words) >= 6 and words[0] == "->" and not words[1].startswith("Remote"):
                address, port = _address(words[1])
                values = [int(word) for word in words[3:6]]
                yield (*service[:2], address, port, *service[2:]), values
        except (ValueError, IndexError, OSError) as error:
            host.note(f"/proc/net/ip_vs {to_printable(line[:32])}", error)


def _service(words: list[str]) -> Service:
    if words[0] == MARK:
        return "", "0", MARK, to_printable(words[1])
    return (*_address(words[1]), words[0], "")


def _address(text: str) -> tuple[str, str]:
    """Return address and port of 0A000001:0050 or [2001:…]:0050, or raise ValueError or OSError."""
    host, _, port = text.rpartition(":")
    if host.startswith("["):
        packed = socket.inet_pton(socket.AF_INET6, host.strip("[]"))
        return socket.inet_ntop(socket.AF_INET6, packed), str(int(port, 16))
    return socket.inet_ntop(socket.AF_INET, bytes.fromhex(host)), str(int(port, 16))


SOURCE = Source("ipvs", METRICS, read)
