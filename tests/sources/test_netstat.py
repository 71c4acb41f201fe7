from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.netstat import SOURCE

NETSTAT = """-- proc/net/netstat --
TcpExt: SyncookiesSent PruneCalled TCPTimeouts
TcpExt: 1 2 3
IpExt: InNoRoutes InOctets
IpExt: 4 5000000000000
"""
SNMP = """-- proc/net/snmp --
IcmpMsg: InType3
IcmpMsg: 9
Tcp: MaxConn InErrs
Tcp: -1 7
"""
SNMP6 = "-- proc/net/snmp6 --\nIp6InReceives \t1\nIp6InOctets                     \t88\nUdp6NoPorts \t2\n"


def test_fields_are_found_by_their_names(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(NETSTAT + SNMP + SNMP6)) == {
        "node_netstat_TcpExt_SyncookiesSent": 1,
        "node_netstat_TcpExt_TCPTimeouts": 3,
        "node_netstat_IpExt_InOctets": 5_000_000_000_000,
        "node_netstat_Tcp_MaxConn": -1,
        "node_netstat_Tcp_InErrs": 7,
        "node_netstat_Ip6_InOctets": 88,
        "node_netstat_Udp6_NoPorts": 2,
    }


def test_kernel_without_ipv6_loses_only_that(machine: Machine, samples: Samples) -> None:
    host = machine(NETSTAT + SNMP)
    assert len(samples(SOURCE, host)) == 5
    assert host.notes == {}


def test_new_order_of_the_columns_is_noticed(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    host = machine(NETSTAT + SNMP)
    samples(SOURCE, host)
    (tmp_path / "proc/net/netstat").write_text("TcpExt: TCPTimeouts SyncookiesSent\nTcpExt: 30 10\n")
    found = samples(SOURCE, host)
    assert found["node_netstat_TcpExt_SyncookiesSent"] == 10
    assert found["node_netstat_TcpExt_TCPTimeouts"] == 30


def test_order_of_the_ipv6_lines_does_not_matter(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine("-- proc/net/snmp6 --\nUdp6NoPorts 2\nIp6InOctets 88\n"))
    assert found == {"node_netstat_Ip6_InOctets": 88, "node_netstat_Udp6_NoPorts": 2}


@pytest.mark.parametrize("values", ["TcpExt: 1 2", "TcpExt: 1 2 3 4", "TcpExt:"])
def test_line_with_the_wrong_number_of_values_costs_only_itself(
    machine: Machine, samples: Samples, values: str
) -> None:
    host = machine(NETSTAT.replace("TcpExt: 1 2 3", values))
    assert samples(SOURCE, host) == {"node_netstat_IpExt_InOctets": 5_000_000_000_000}
    assert len(host.notes) == 1


def test_missing_line_of_values_does_not_shift_the_others(machine: Machine, samples: Samples) -> None:
    host = machine(NETSTAT.replace("TcpExt: 1 2 3\n", ""))
    assert samples(SOURCE, host) == {"node_netstat_IpExt_InOctets": 5_000_000_000_000}


def test_garbled_value_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(NETSTAT.replace("1 2 3", "N/A 2 3") + SNMP6.replace("88", ""))
    assert sorted(samples(SOURCE, host)) == [
        "node_netstat_IpExt_InOctets",
        "node_netstat_TcpExt_TCPTimeouts",
        "node_netstat_Udp6_NoPorts",
    ]
    assert len(host.notes) == 2


def test_machine_without_any_of_the_files_has_none(machine: Machine) -> None:
    with pytest.raises(Unavailable):
        list(SOURCE.read(machine("")))
