"""Counters of the IP, ICMP, TCP and UDP layers, from /proc/net/netstat, snmp and snmp6."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, untyped
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    untyped("node_netstat_TcpExt_ListenDrops", "Connections refused because the listener was overwhelmed."),
    untyped("node_netstat_TcpExt_ListenOverflows", "Connections refused because the accept queue was full."),
    untyped("node_netstat_TcpExt_SyncookiesSent", "SYN cookies sent to get through a flood of connections."),
    untyped("node_netstat_TcpExt_SyncookiesRecv", "SYN cookies that came back as they should."),
    untyped("node_netstat_TcpExt_SyncookiesFailed", "SYN cookies that came back wrong."),
    untyped("node_netstat_TcpExt_TCPSynRetrans", "SYN packets, or answers to one, that were sent again."),
    untyped("node_netstat_TcpExt_TCPTimeouts", "TCP timers that ran out waiting for an acknowledgement."),
    untyped("node_netstat_TcpExt_TCPOFOQueue", "TCP packets that came out of order and were kept."),
    untyped("node_netstat_TcpExt_TCPRcvQDrop", "TCP packets thrown away because the receive queue was full."),
    untyped("node_netstat_IpExt_InOctets", "Bytes of IPv4 packets that came in."),
    untyped("node_netstat_IpExt_OutOctets", "Bytes of IPv4 packets that went out."),
    untyped("node_netstat_Ip_Forwarding", "1 where this host forwards IPv4 packets, 2 where it does not."),
    untyped("node_netstat_Icmp_InMsgs", "ICMP messages that came in."),
    untyped("node_netstat_Icmp_InErrors", "ICMP messages that came in broken."),
    untyped("node_netstat_Icmp_OutMsgs", "ICMP messages that went out."),
    untyped("node_netstat_Tcp_ActiveOpens", "TCP connections begun from here."),
    untyped("node_netstat_Tcp_PassiveOpens", "TCP connections begun from elsewhere."),
    untyped("node_netstat_Tcp_CurrEstab", "TCP connections now open."),
    untyped("node_netstat_Tcp_InSegs", "TCP segments that came in, bad ones included."),
    untyped("node_netstat_Tcp_OutSegs", "TCP segments that went out, repetitions not counted."),
    untyped("node_netstat_Tcp_RetransSegs", "TCP segments that had to be sent again."),
    untyped("node_netstat_Tcp_InErrs", "TCP segments that came in broken."),
    untyped("node_netstat_Tcp_OutRsts", "TCP segments sent to break a connection off."),
    untyped("node_netstat_Tcp_MaxConn", "The most TCP connections allowed, or -1 where nothing limits them."),
    untyped("node_netstat_Udp_InDatagrams", "UDP datagrams delivered to a socket."),
    untyped("node_netstat_Udp_OutDatagrams", "UDP datagrams that went out."),
    untyped("node_netstat_Udp_NoPorts", "UDP datagrams for a port that nobody listens on."),
    untyped("node_netstat_Udp_InErrors", "UDP datagrams that could not be delivered for another reason."),
    untyped("node_netstat_Udp_RcvbufErrors", "UDP datagrams lost because the socket's buffer was full."),
    untyped("node_netstat_Udp_SndbufErrors", "UDP datagrams not sent because the send buffer was full."),
    untyped("node_netstat_UdpLite_InErrors", "UDP-Lite datagrams that could not be delivered."),
    untyped("node_netstat_Ip6_InOctets", "Bytes of IPv6 packets that came in."),
    untyped("node_netstat_Ip6_OutOctets", "Bytes of IPv6 packets that went out."),
    untyped("node_netstat_Icmp6_InMsgs", "ICMPv6 messages that came in."),
    untyped("node_netstat_Icmp6_InErrors", "ICMPv6 messages that came in broken."),
    untyped("node_netstat_Icmp6_OutMsgs", "ICMPv6 messages that went out."),
    untyped("node_netstat_Udp6_InDatagrams", "UDP datagrams over IPv6 delivered to a socket."),
    untyped("node_netstat_Udp6_NoPorts", "UDP datagrams over IPv6 for a port that nobody listens on."),
    untyped("node_netstat_Udp6_InErrors", "UDP datagrams over IPv6 that could not be delivered."),
    untyped("node_netstat_Udp6_OutDatagrams", "UDP datagrams over IPv6 that went out."),
    untyped("node_netstat_Udp6_RcvbufErrors", "UDP datagrams over IPv6 lost to a full socket buffer."),
    untyped("node_netstat_Udp6_SndbufErrors", "UDP datagrams over IPv6 not sent for a full send buffer."),
    untyped("node_netstat_UdpLite6_InErrors", "UDP-Lite datagrams over IPv6 that could not be delivered."),
)

PREFIX = "node_netstat_"
WORDS = {metric: metric.name[len(PREFIX) :].split("_") for metric in METRICS}
BY_FIELD = {(protocol, field): metric for metric, (protocol, field) in WORDS.items() if "6" not in protocol}
PROTOCOLS = {protocol for protocol, _ in BY_FIELD}
# In the order of the file.
SIX = [("\n" + protocol + field, metric) for metric, (protocol, field) in WORDS.items() if "6" in protocol]

Places = tuple[str, int, list[tuple[int, Metric]]]


def read(host: Host) -> Iterator[Sample]:
    """Yield the wanted fields of the three files; one that is missing costs only itself."""
    texts = [host.proc.read_text(path) for path in ("net/netstat", "net/snmp", "net/snmp6")]
    if not any(texts):
        raise Unavailable("none of /proc/net/netstat, snmp and snmp6 can be read")
    for text in texts[:2]:
        lines = (text or "").split("\n")
        # A line of names is followed by a line of numbers that begins with the same protocol.
        for names, numbers in zip(lines, lines[1:]):
            protocol, colon, _ = names.partition(":")
            if protocol in PROTOCOLS and numbers.startswith(protocol + colon):
                yield from _fields(host, protocol, names, numbers.split())
    yield from _six(host, texts[2] or "")


def _fields(host: Host, protocol: str, names: str, numbers: list[str]) -> Iterator[Sample]:
    known: dict[str, Places] = host.cache
    if protocol not in known or known[protocol][0] != names:
        fields = names.split()
        wanted = [(i, BY_FIELD[protocol, f]) for i, f in enumerate(fields) if (protocol, f) in BY_FIELD]
        known[protocol] = names, len(fields), wanted
    _, count, places = known[protocol]
    if len(numbers) != count:
        host.note(f"/proc/net {protocol}", f"{count} names, but {len(numbers)} numbers")
        return
    for i, metric in places:
        try:
            number = int(numbers[i])
        except ValueError as error:
            host.note(f"/proc/net {metric.name[len(PREFIX) :]}", error)
            continue
        yield metric, (), number


def _six(host: Host, text: str) -> Iterator[Sample]:
    # Each line is a name, blanks and a number; looking for few of them in turn beats splitting all.
    text = f"\n{text}\n"
    end = 0
    for name, metric in SIX:
        start = text.find(name, end)
        if start < 0:
            start = text.find(name)  # another kernel, another order
        if start < 0:
            continue
        end = text.index("\n", start + 1)
        try:
            number = int(text[start + len(name) : end])
        except ValueError as error:
            host.note(f"/proc/net/snmp6 {name.strip()}", error)
            continue
        yield metric, (), number


SOURCE = Source("netstat", METRICS, read)
