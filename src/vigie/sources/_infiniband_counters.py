"""The counters of an InfiniBand or RoCE port: each file, and the metric that it is."""

from __future__ import annotations

from typing import NamedTuple

from vigie.model import Metric, counter, gauge

PORT = ("device", "port")
WORD = 4  # bytes; the counters of data are in words, whatever the number of lanes


class CounterFile(NamedTuple):
    """One file of a port's directory, its metric, and by what its number is multiplied."""

    file: str
    metric: Metric
    scale: float = 1


def _row(file: str, name: str, help: str, scale: float = 1) -> CounterFile:
    return CounterFile(file, counter(f"node_infiniband_{name}_total", help, *PORT), scale)


COUNTERS = (
    _row("counters/port_rcv_data", "port_data_received_bytes", "Data received.", WORD),
    _row("counters/port_xmit_data", "port_data_transmitted_bytes", "Data sent.", WORD),
    _row("counters/port_rcv_packets", "port_packets_received", "Packets received, bad ones too."),
    _row("counters/port_xmit_packets", "port_packets_transmitted", "Packets sent, bad ones too."),
    _row("counters/unicast_rcv_packets", "unicast_packets_received", "Unicast packets received."),
    _row("counters/unicast_xmit_packets", "unicast_packets_transmitted", "Unicast packets sent."),
    _row("counters/multicast_rcv_packets", "multicast_packets_received", "Multicast packets received."),
    _row("counters/multicast_xmit_packets", "multicast_packets_transmitted", "Multicast packets sent."),
    _row("counters/port_xmit_wait", "port_transmit_wait", "Ticks in which data waited for credit."),
    _row("counters/port_rcv_discards", "port_discards_received", "Packets in that were dropped."),
    _row("counters/port_xmit_discards", "port_discards_transmitted", "Packets out that were dropped."),
    _row("counters/port_rcv_errors", "port_errors_received", "Packets received with an error."),
    _row(
        "counters/port_rcv_constraint_errors",
        "port_constraint_errors_received",
        "Packets in that a filter of the switch's port dropped.",
    ),
    _row(
        "counters/port_xmit_constraint_errors",
        "port_constraint_errors_transmitted",
        "Packets out that a filter of the switch's port dropped.",
    ),
    _row(
        "counters/port_rcv_remote_physical_errors",
        "port_receive_remote_physical_errors",
        "Packets that somebody before marked as bad.",
    ),
    _row(
        "counters/port_rcv_switch_relay_errors",
        "port_receive_switch_relay_errors",
        "Packets that the switch could not pass on.",
    ),
    _row("counters/symbol_error", "symbol_error", "Minor errors on a lane of the link."),
    _row("counters/link_downed", "link_downed", "Times the link went down after an error."),
    _row("counters/link_error_recovery", "link_error_recovery", "Times the link recovered from an error."),
    _row(
        "counters/local_link_integrity_errors",
        "local_link_integrity_errors",
        "Times the physical errors of the link passed their threshold.",
    ),
    _row(
        "counters/excessive_buffer_overrun_errors",
        "excessive_buffer_overrun_errors",
        "Times the flow control let the buffer overrun.",
    ),
    _row("counters/VL15_dropped", "vl15_dropped", "Packets of the fabric's management that were dropped."),
)

# Before Linux 4.5, counters of 64 bits stood in a directory of their own.
OLD_COUNTERS = (
    _row("counters_ext/port_rcv_data_64", "legacy_data_received_bytes", "Data received.", WORD),
    _row("counters_ext/port_xmit_data_64", "legacy_data_transmitted_bytes", "Data sent.", WORD),
    _row("counters_ext/port_rcv_packets_64", "legacy_packets_received", "Packets received."),
    _row("counters_ext/port_xmit_packets_64", "legacy_packets_transmitted", "Packets sent."),
    _row(
        "counters_ext/port_unicast_rcv_packets",
        "legacy_unicast_packets_received",
        "Unicast packets received.",
    ),
    _row(
        "counters_ext/port_unicast_xmit_packets",
        "legacy_unicast_packets_transmitted",
        "Unicast packets sent.",
    ),
    _row(
        "counters_ext/port_multicast_rcv_packets",
        "legacy_multicast_packets_received",
        "Multicast packets received.",
    ),
    _row(
        "counters_ext/port_multicast_xmit_packets",
        "legacy_multicast_packets_transmitted",
        "Multicast packets sent.",
    ),
)

HARDWARE_COUNTERS = (
    CounterFile(
        "hw_counters/lifespan",
        gauge("node_infiniband_lifespan_seconds", "How old these counters may be.", *PORT),
        1e-3,
    ),
    _row("hw_counters/duplicate_request", "duplicate_requests_packets", "Requests that came twice."),
    _row("hw_counters/implied_nak_seq_err", "implied_nak_seq_errors", "Answers that stood for a lost one."),
    _row("hw_counters/local_ack_timeout_err", "local_ack_timeout_errors", "Packets not confirmed in time."),
    _row("hw_counters/np_cnp_sent", "np_cnp_packets_sent", "Notices of congestion sent."),
    _row(
        "hw_counters/np_ecn_marked_roce_packets",
        "np_ecn_marked_roce_packets_received",
        "RoCE packets received that tell of congestion.",
    ),
    _row("hw_counters/out_of_buffer", "out_of_buffer_drops", "Packets dropped since no buffer was posted."),
    _row("hw_counters/out_of_sequence", "out_of_sequence_packets_received", "Packets received out of order."),
    _row("hw_counters/packet_seq_err", "packet_sequence_errors", "Answers that told of a wrong order."),
    _row("hw_counters/req_cqe_error", "req_cqes_errors", "Requests that ended in an error."),
    _row("hw_counters/req_cqe_flush_error", "req_cqes_flush_errors", "Requests that were thrown away."),
    _row(
        "hw_counters/req_remote_access_errors",
        "req_remote_access_errors",
        "Requests without right of access.",
    ),
    _row(
        "hw_counters/req_remote_invalid_request",
        "req_remote_invalid_request_errors",
        "Requests that the peer called invalid.",
    ),
    _row("hw_counters/resp_cqe_error", "resp_cqes_errors", "Answers that ended in an error."),
    _row("hw_counters/resp_cqe_flush_error", "resp_cqes_flush_errors", "Answers that were thrown away."),
    _row("hw_counters/resp_local_length_error", "resp_local_length_errors", "Answers of a wrong length."),
    _row(
        "hw_counters/resp_remote_access_errors",
        "resp_remote_access_errors",
        "Answers without right of access.",
    ),
    _row(
        "hw_counters/rnr_nak_retry_err",
        "rnr_nak_retry_packets_received",
        "Times the peer was not ready to receive.",
    ),
    _row("hw_counters/roce_adp_retrans", "roce_adp_retransmits", "Adaptive RoCE retransmissions."),
    _row(
        "hw_counters/roce_adp_retrans_to",
        "roce_adp_retransmits_timeout",
        "Adaptive RoCE retransmissions that timed out.",
    ),
    _row("hw_counters/roce_slow_restart", "roce_slow_restart_used", "Times RoCE restarted slowly."),
    _row(
        "hw_counters/roce_slow_restart_cnps",
        "roce_slow_restart_cnps",
        "Notices of congestion that RoCE's slow restart made.",
    ),
    _row("hw_counters/roce_slow_restart_trans", "roce_slow_restart", "Changes to slow restart of RoCE."),
    _row("hw_counters/rp_cnp_handled", "rp_cnp_packets_handled", "Notices of congestion acted on."),
    _row("hw_counters/rp_cnp_ignored", "rp_cnp_ignored_packets_received", "Notices of congestion ignored."),
    _row("hw_counters/rx_atomic_requests", "rx_atomic_requests", "Atomic requests received."),
    _row("hw_counters/rx_dct_connect", "rx_dct_connect_requests", "Requests to connect received."),
    _row(
        "hw_counters/rx_icrc_encapsulated", "rx_icrc_encapsulated_errors", "RoCE packets with a bad checksum."
    ),
    _row("hw_counters/rx_read_requests", "rx_read_requests", "Read requests received."),
    _row("hw_counters/rx_write_requests", "rx_write_requests", "Write requests received."),
)

ROWS = (*COUNTERS, *OLD_COUNTERS, *HARDWARE_COUNTERS)
