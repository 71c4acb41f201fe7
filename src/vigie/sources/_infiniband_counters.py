"""Counters of InfiniBand and RoCE ports: files and metrics."""

from __future__ import annotations

from typing import NamedTuple

from vigie.model import Metric, counter, gauge

PORT = ("device", "port")
WORD = 4  # data counters are in 4-byte words, whatever the number of lanes


class CounterFile(NamedTuple):
    """A file in a port's directory, its metric, and a factor."""

    file: str
    metric: Metric
    scale: float = 1


def _row(file: str, name: str, help: str, scale: float = 1) -> CounterFile:
    return CounterFile(file, counter(f"node_infiniband_{name}_total", help, *PORT), scale)


COUNTERS = (
    _row("counters/port_rcv_data", "port_data_received_bytes", "Data received.", WORD),
    _row("counters/port_xmit_data", "port_data_transmitted_bytes", "Data sent.", WORD),
    _row("counters/port_rcv_packets", "port_packets_received", "Packets received, including erroneous ones."),
    _row("counters/port_xmit_packets", "port_packets_transmitted", "Packets sent, including erroneous ones."),
    _row("counters/unicast_rcv_packets", "unicast_packets_received", "Unicast packets received."),
    _row("counters/unicast_xmit_packets", "unicast_packets_transmitted", "Unicast packets sent."),
    _row("counters/multicast_rcv_packets", "multicast_packets_received", "Multicast packets received."),
    _row("counters/multicast_xmit_packets", "multicast_packets_transmitted", "Multicast packets sent."),
    _row(
        "counters/port_xmit_wait",
        "port_transmit_wait",
        "Ticks during which data could not be sent for lack of credits.",
    ),
    _row("counters/port_rcv_discards", "port_discards_received", "Inbound packets dropped."),
    _row("counters/port_xmit_discards", "port_discards_transmitted", "Outbound packets dropped."),
    _row("counters/port_rcv_errors", "port_errors_received", "Packets received with errors."),
    _row(
        "counters/port_rcv_constraint_errors",
        "port_constraint_errors_received",
        "Inbound packets dropped by a filter of the switch port.",
    ),
    _row(
        "counters/port_xmit_constraint_errors",
        "port_constraint_errors_transmitted",
        "Outbound packets dropped by a filter of the switch port.",
    ),
    _row(
        "counters/port_rcv_remote_physical_errors",
        "port_receive_remote_physical_errors",
        "Packets received that were marked bad upstream.",
    ),
    _row(
        "counters/port_rcv_switch_relay_errors",
        "port_receive_switch_relay_errors",
        "Packets that the switch could not forward.",
    ),
    _row("counters/symbol_error", "symbol_error", "Minor link errors."),
    _row("counters/link_downed", "link_downed", "Times the link went down after failed error recovery."),
    _row("counters/link_error_recovery", "link_error_recovery", "Times the link recovered from an error."),
    _row(
        "counters/local_link_integrity_errors",
        "local_link_integrity_errors",
        "Times local physical errors exceeded their threshold.",
    ),
    _row(
        "counters/excessive_buffer_overrun_errors",
        "excessive_buffer_overrun_errors",
        "Buffer overruns by flow control errors.",
    ),
    _row("counters/VL15_dropped", "vl15_dropped", "Subnet management packets dropped."),
)

# Before Linux 4.5, 64-bit counters had their own directory.
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
        gauge("node_infiniband_lifespan_seconds", "Maximum age of the hardware counters.", *PORT),
        1e-3,
    ),
    _row("hw_counters/duplicate_request", "duplicate_requests_packets", "Duplicate requests received."),
    _row("hw_counters/implied_nak_seq_err", "implied_nak_seq_errors", "Implied NAK sequence errors."),
    _row(
        "hw_counters/local_ack_timeout_err",
        "local_ack_timeout_errors",
        "Packets without acknowledgement in time.",
    ),
    _row("hw_counters/np_cnp_sent", "np_cnp_packets_sent", "Congestion notification packets sent."),
    _row(
        "hw_counters/np_ecn_marked_roce_packets",
        "np_ecn_marked_roce_packets_received",
        "RoCE packets received with an ECN mark.",
    ),
    _row("hw_counters/out_of_buffer", "out_of_buffer_drops", "Packets dropped for lack of a posted buffer."),
    _row("hw_counters/out_of_sequence", "out_of_sequence_packets_received", "Packets received out of order."),
    _row("hw_counters/packet_seq_err", "packet_sequence_errors", "NAK sequence errors received."),
    _row("hw_counters/req_cqe_error", "req_cqes_errors", "Requests completed with an error."),
    _row("hw_counters/req_cqe_flush_error", "req_cqes_flush_errors", "Requests flushed with an error."),
    _row(
        "hw_counters/req_remote_access_errors",
        "req_remote_access_errors",
        "Requests with a remote access error.",
    ),
    _row(
        "hw_counters/req_remote_invalid_request",
        "req_remote_invalid_request_errors",
        "Requests rejected as invalid by the peer.",
    ),
    _row("hw_counters/resp_cqe_error", "resp_cqes_errors", "Responses completed with an error."),
    _row("hw_counters/resp_cqe_flush_error", "resp_cqes_flush_errors", "Responses flushed with an error."),
    _row("hw_counters/resp_local_length_error", "resp_local_length_errors", "Responses with a length error."),
    _row(
        "hw_counters/resp_remote_access_errors",
        "resp_remote_access_errors",
        "Responses with a remote access error.",
    ),
    _row(
        "hw_counters/rnr_nak_retry_err",
        "rnr_nak_retry_packets_received",
        "Retries because the receiver was not ready.",
    ),
    _row("hw_counters/roce_adp_retrans", "roce_adp_retransmits", "Adaptive RoCE retransmissions."),
    _row(
        "hw_counters/roce_adp_retrans_to",
        "roce_adp_retransmits_timeout",
        "Timeouts of adaptive RoCE retransmissions.",
    ),
    _row("hw_counters/roce_slow_restart", "roce_slow_restart_used", "RoCE slow restarts."),
    _row(
        "hw_counters/roce_slow_restart_cnps",
        "roce_slow_restart_cnps",
        "Congestion notifications generated by RoCE slow restart.",
    ),
    _row("hw_counters/roce_slow_restart_trans", "roce_slow_restart", "Transitions to RoCE slow restart."),
    _row("hw_counters/rp_cnp_handled", "rp_cnp_packets_handled", "Congestion notifications handled."),
    _row(
        "hw_counters/rp_cnp_ignored", "rp_cnp_ignored_packets_received", "Congestion notifications ignored."
    ),
    _row("hw_counters/rx_atomic_requests", "rx_atomic_requests", "Atomic requests received."),
    _row("hw_counters/rx_dct_connect", "rx_dct_connect_requests", "Connection requests received."),
    _row(
        "hw_counters/rx_icrc_encapsulated",
        "rx_icrc_encapsulated_errors",
        "RoCE packets with an invalid checksum.",
    ),
    _row("hw_counters/rx_read_requests", "rx_read_requests", "Read requests received."),
    _row("hw_counters/rx_write_requests", "rx_write_requests", "Write requests received."),
)

ROWS = (*COUNTERS, *OLD_COUNTERS, *HARDWARE_COUNTERS)
