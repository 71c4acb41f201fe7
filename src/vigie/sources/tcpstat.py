"""TCP connections by state, from /proc/net/tcp and tcp6."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    STATES := gauge(
        "node_tcp_connection_states",
        "TCP sockets in each state; as rx_ and tx_queued_bytes, what their connections hold in queues.",
        "state",
    ),
)

# The kernel numbers the states from 1, in this order.
NAMES = (
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
)
NAME = {f"{number:02X}": name for number, name in enumerate(NAMES, 1)}
TX, RX = "tx_queued_bytes", "rx_queued_bytes"

# What a listening socket has in these columns are connections, not bytes; most others have nothing.
EMPTY = "00000000:00000000"
LISTEN = "0A"

MOST_SOCKETS = 20_000


def read(host: Host) -> Iterator[Sample]:
    """Yield the number of sockets in every state, unless there are so many that it would hurt."""
    sockets = _sockets(host)
    if sockets > MOST_SOCKETS:
        raise Unavailable(f"listing {sockets} TCP sockets would cost too much; {MOST_SOCKETS} are the limit")
    counts = dict.fromkeys((*NAMES, TX, RX), 0)
    _count(host, "net/tcp", host.proc.read_short("net/tcp"), counts)
    _count(host, "net/tcp6", host.proc.read_text("net/tcp6") or "", counts)
    for state, count in counts.items():
        yield STATES, (state,), count


def _sockets(host: Host) -> int:
    """Return how many TCP sockets of either family the kernel would list, or 0 if it does not say."""
    for line in (host.proc.read_text("net/sockstat") or "").split("\n"):
        if line.startswith("TCP:"):
            words = line.split()
            figures = dict(zip(words[1::2], words[2::2]))
            try:
                return int(figures["alloc"]) + int(figures["tw"])
            except (KeyError, ValueError):
                host.note("/proc/net/sockstat", f"does not tell how many TCP sockets there are: {line!r}")
    return 0


def _count(host: Host, path: str, text: str, counts: dict[str, int]) -> None:
    for line in filter(None, text.split("\n")[1:]):
        try:
            _, _, _, state, queues, _ = line.split(None, 5)
            name = NAME[state]
            sent, received = (0, 0) if queues == EMPTY or state == LISTEN else _queued(queues)
        except (KeyError, ValueError):
            host.note(f"/proc/{path}", f"a line without a state or queues: {line[:60]!r}")
            continue
        counts[name] += 1
        counts[TX] += sent
        counts[RX] += received


def _queued(queues: str) -> tuple[int, int]:
    sent, received = queues.split(":")
    return int(sent, 16), int(received, 16)


SOURCE = Source("tcpstat", METRICS, read, slow=True, every=60)
