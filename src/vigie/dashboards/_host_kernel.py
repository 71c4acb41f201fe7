"""Charts of the kernel: sockets, processes, clock, and the agent's cost."""

from __future__ import annotations

from vigie.dashboards._build import ANY, build_multi_panel, build_panel, rate
from vigie.dashboards._choices import ON_HOST


def _rates(**metrics: str) -> dict[str, str]:
    """Return queries for protocol counters."""
    return {word.replace("_", " "): rate(f"node_netstat_{name}", ON_HOST) for word, name in metrics.items()}


SOCKETS = (
    build_multi_panel(
        "Sockets",
        "Steady growth: a program does not close its sockets.",
        "count",
        {
            "in use": f"node_sockstat_sockets_used{{{ON_HOST}}}",
            "TCP": f"node_sockstat_TCP_inuse{{{ON_HOST}}}",
            "TCP in TIME_WAIT": f"node_sockstat_TCP_tw{{{ON_HOST}}}",
            "UDP": f"node_sockstat_UDP_inuse{{{ON_HOST}}}",
        },
    ),
    build_multi_panel(
        "TCP connections",
        "Opened and accepted follow the load. A jump is a burst of clients.",
        "ops/s",
        _rates(opened="Tcp_ActiveOpens", accepted="Tcp_PassiveOpens"),
    ),
    build_panel(
        "Established TCP connections",
        "Current number.",
        "count",
        f"node_netstat_Tcp_CurrEstab{{{ON_HOST}}}",
        "open",
    ),
    build_panel(
        "TCP connections by state",
        "Many in close_wait: a program does not close. Many in syn_sent: a peer is down.",
        "count",
        f"node_tcp_connection_states{{{ON_HOST}}}",
        "{{state}}",
        stack=True,
        needs="the tcpstat source (`--with-sources tcpstat`)",
    ),
    build_multi_panel(
        "TCP segments",
        "Retransmissions are lost packets. Above 1% the network has a problem.",
        "ops/s",
        _rates(received="Tcp_InSegs", sent="Tcp_OutSegs", sent_again="Tcp_RetransSegs"),
    ),
    build_multi_panel(
        "TCP errors",
        "Listen overflows, resets and timeouts.",
        "ops/s",
        _rates(
            overflowed="TcpExt_ListenOverflows",
            dropped="TcpExt_ListenDrops",
            errors="Tcp_InErrs",
            resets="Tcp_OutRsts",
        ),
    ),
    build_multi_panel(
        "UDP",
        "Errors and full buffers lose data for good.",
        "ops/s",
        _rates(
            received="Udp_InDatagrams",
            sent="Udp_OutDatagrams",
            errors="Udp_InErrors",
            nobody_there="Udp_NoPorts",
        ),
    ),
    build_multi_panel(
        "ICMP",
        "Errors point at broken routes.",
        "ops/s",
        _rates(received="Icmp_InMsgs", sent="Icmp_OutMsgs", errors="Icmp_InErrors"),
    ),
)
PROCESSES = (
    build_multi_panel(
        "Running and blocked tasks",
        "Blocked tasks wait for a disk or file server.",
        "count",
        {
            "running": f"node_procs_running{{{ON_HOST}}}",
            "blocked": f"node_procs_blocked{{{ON_HOST}}}",
        },
    ),
    build_panel(
        "Processes by state",
        "Many in D wait for storage. Many in Z are not reaped by their parent.",
        "count",
        f"node_processes_state{{{ON_HOST}}}",
        "{{state}}",
        stack=True,
        needs="the processes source (`--with-sources processes`)",
    ),
    build_multi_panel(
        "Threads",
        "At the limit no process can start.",
        "count",
        {
            "current": f"node_processes_threads{{{ON_HOST}}}",
            "maximum": f"node_processes_max_threads{{{ON_HOST}}}",
        },
        needs="the processes source (`--with-sources processes`)",
    ),
    build_panel(
        "Hung tasks",
        "Blocked in the kernel for minutes: a disk or file server does not respond.",
        "count",
        f"increase(node_kernel_hung_tasks_total{{{ON_HOST}}}[1h])",
        "in 1h",
        thresholds=ANY,
        needs="the kernel_hung source (Linux 6.13 or newer)",
    ),
)
CLOCK = (
    build_panel(
        "Clock synchronized",
        "No: nothing sets the clock. Logs and traces of nodes will not match.",
        "bool",
        f"node_timex_sync_status{{{ON_HOST}}}",
        "synchronized",
        ceiling=1,
    ),
    build_multi_panel(
        "Clock offset",
        "Offset by its own estimate, and measured by the server.",
        "seconds",
        {
            "to its reference": f"node_timex_offset_seconds{{{ON_HOST}}}",
            "maximum": f"node_timex_maxerror_seconds{{{ON_HOST}}}",
            "to the server": f"vigie_node_clock_offset_seconds{{{ON_HOST}}}",
        },
        floor=None,
    ),
)
KERNEL = (
    build_panel(
        "Randomness",
        "256 on newer kernels. On older ones, low values block programs.",
        "count",
        f"node_entropy_available_bits{{{ON_HOST}}}",
        "bits",
    ),
    build_panel(
        "Read time by source",
        "The agent's cost. A high value means a slow source.",
        "seconds",
        f"node_scrape_collector_duration_seconds{{{ON_HOST}}}",
        "{{collector}}",
        kind="band",
    ),
    build_panel(
        "Sources without data",
        "Unavailable or failing sources. The node page shows the reason.",
        "count",
        f"node_scrape_collector_success{{{ON_HOST}}} == 0",
        "{{collector}}",
        kind="table",
        needs="none; empty is good",
    ),
)
