"""Charts of a node's kernel: sockets, processes, clock, and what the agent costs."""

from __future__ import annotations

from vigie.dashboards._build import ANY, build_multi_panel, build_panel, rate
from vigie.dashboards._choices import ON_HOST


def _rates(**metrics: str) -> dict[str, str]:
    """Return queries for counters of the network's protocols."""
    return {word.replace("_", " "): rate(f"node_netstat_{name}", ON_HOST) for word, name in metrics.items()}


SOCKETS = (
    build_multi_panel(
        "Sockets",
        "Sockets that only grow in number are not closed by somebody.",
        "count",
        {
            "in use": f"node_sockstat_sockets_used{{{ON_HOST}}}",
            "TCP": f"node_sockstat_TCP_inuse{{{ON_HOST}}}",
            "TCP, closing": f"node_sockstat_TCP_tw{{{ON_HOST}}}",
            "UDP": f"node_sockstat_UDP_inuse{{{ON_HOST}}}",
        },
        floor=0,
    ),
    build_multi_panel(
        "TCP connections",
        "Opened and accepted follow the services; a jump is a storm of clients.",
        "ops/s",
        _rates(opened="Tcp_ActiveOpens", accepted="Tcp_PassiveOpens"),
        floor=0,
    ),
    build_panel(
        "TCP connections open",
        "How many there are now.",
        "count",
        f"node_netstat_Tcp_CurrEstab{{{ON_HOST}}}",
        "open",
        floor=0,
    ),
    build_panel(
        "TCP connections, by state",
        "Many in close_wait are a program that does not close; many in syn_sent, a peer that is gone.",
        "count",
        f"node_tcp_connection_states{{{ON_HOST}}}",
        "{{state}}",
        stack=True,
        needs="the tcpstat source (`--with-sources tcpstat`)",
        floor=0,
    ),
    build_multi_panel(
        "TCP segments",
        "Segments sent again are lost packets: above a hundredth the network is in trouble.",
        "ops/s",
        _rates(received="Tcp_InSegs", sent="Tcp_OutSegs", sent_again="Tcp_RetransSegs"),
        floor=0,
    ),
    build_multi_panel(
        "TCP trouble",
        "A service that accepts too slowly, resets, and timeouts.",
        "ops/s",
        _rates(
            overflowed="TcpExt_ListenOverflows",
            dropped="TcpExt_ListenDrops",
            errors="Tcp_InErrs",
            resets="Tcp_OutRsts",
        ),
        floor=0,
    ),
    build_multi_panel(
        "UDP",
        "Errors and full buffers lose what nobody sends again.",
        "ops/s",
        _rates(
            received="Udp_InDatagrams",
            sent="Udp_OutDatagrams",
            errors="Udp_InErrors",
            nobody_there="Udp_NoPorts",
        ),
        floor=0,
    ),
    build_multi_panel(
        "ICMP",
        "Errors tell of routes that do not work.",
        "ops/s",
        _rates(received="Icmp_InMsgs", sent="Icmp_OutMsgs", errors="Icmp_InErrors"),
        floor=0,
    ),
)
PROCESSES = (
    build_multi_panel(
        "Running and blocked",
        "Blocked ones wait for a disk or a file server.",
        "count",
        {
            "running": f"node_procs_running{{{ON_HOST}}}",
            "blocked": f"node_procs_blocked{{{ON_HOST}}}",
        },
        floor=0,
    ),
    build_panel(
        "Processes, by state",
        "Many in D wait for storage; many in Z were never collected by their parent.",
        "count",
        f"node_processes_state{{{ON_HOST}}}",
        "{{state}}",
        stack=True,
        needs="the processes source (`--with-sources processes`)",
        floor=0,
    ),
    build_multi_panel(
        "Threads",
        "Near the limit nothing new can be started.",
        "count",
        {
            "there are": f"node_processes_threads{{{ON_HOST}}}",
            "at most": f"node_processes_max_threads{{{ON_HOST}}}",
        },
        needs="the processes source (`--with-sources processes`)",
        floor=0,
    ),
    build_panel(
        "Tasks that hung",
        "Stuck in the kernel for minutes: a disk or a file server that does not answer.",
        "count",
        f"increase(node_kernel_hung_tasks_total{{{ON_HOST}}}[1h])",
        "in an hour",
        thresholds=ANY,
        needs="the kernel_hung source (Linux 6.13 or newer)",
        floor=0,
    ),
)
CLOCK = (
    build_panel(
        "Clock in step",
        "No means that nobody sets the clock: logs and traces of nodes do not fit together.",
        "bool",
        f"node_timex_sync_status{{{ON_HOST}}}",
        "in step",
        floor=0,
        ceiling=1,
    ),
    build_multi_panel(
        "Off by",
        "How far the clock is off, as it thinks itself and as the server sees it.",
        "seconds",
        {
            "to its source": f"node_timex_offset_seconds{{{ON_HOST}}}",
            "at most": f"node_timex_maxerror_seconds{{{ON_HOST}}}",
            "to the server": f"vigie_node_clock_offset_seconds{{{ON_HOST}}}",
        },
    ),
)
KERNEL = (
    build_panel(
        "Randomness",
        "Newer kernels keep it at 256; on older ones little of it makes programs wait.",
        "count",
        f"node_entropy_available_bits{{{ON_HOST}}}",
        "bits",
        floor=0,
    ),
    build_panel(
        "Time to read each source",
        "The agent's own cost: a source that takes long reads something slow.",
        "seconds",
        f"node_scrape_collector_duration_seconds{{{ON_HOST}}}",
        "{{collector}}",
        kind="band",
        floor=0,
    ),
    build_panel(
        "Sources that give nothing",
        "Each row is a source that is not there or fails; the node's page says why.",
        "count",
        f"node_scrape_collector_success{{{ON_HOST}}} == 0",
        "{{collector}}",
        kind="table",
        needs="nothing; empty is good",
    ),
)
