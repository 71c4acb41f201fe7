from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.netdev import COLUMNS, SOURCE

HEADER = """-- proc/net/dev --
Inter-|   Receive                |  Transmit
 face |bytes    packets errs drop|bytes    packets errs drop
"""
ETH0 = "  eth0: 5000000000 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"


def test_columns_have_their_names(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(HEADER + ETH0))
    values = [found[f'{metric.name}{{device="eth0"}}'] for metric in COLUMNS]
    assert values == [5_000_000_000, *range(2, 17)]
    assert found['node_network_receive_multicast_total{device="eth0"}'] == 8
    assert found['node_network_transmit_colls_total{device="eth0"}'] == 14


def test_old_kernels_put_no_blank_after_the_name(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(HEADER + ETH0.replace(": ", ":")))
    assert found['node_network_receive_bytes_total{device="eth0"}'] == 5_000_000_000


def test_packets_without_a_taker_come_from_sysfs(machine: Machine, samples: Samples) -> None:
    host = machine(HEADER + ETH0 + "-- sys/class/net/eth0/statistics/rx_nohandler --\n17\n")
    assert samples(SOURCE, host)['node_network_receive_nohandler_total{device="eth0"}'] == 17


@pytest.mark.parametrize(
    "row",
    [
        "eth1: 1 2 3",
        "eth1: " + "N/A " * 16,
        "eth1: " + "-1 " * 16,
        "eth1",
        ": " + "1 " * 16,
        "eth1: " + "1 " * 17,
    ],
)
def test_garbled_row_costs_only_itself(machine: Machine, samples: Samples, row: str) -> None:
    host = machine(HEADER + row + "\n" + ETH0)
    assert len(samples(SOURCE, host)) == len(COLUMNS)
    assert len(host.notes) == 1


def test_excluded_interfaces_are_left_out(machine: Machine, samples: Samples) -> None:
    rows = ETH0 + ETH0.replace("eth0", "veth12") + ETH0.replace("eth0", "lo")
    host = machine(HEADER + rows, exclude="^(veth|lo$)")
    assert {series for series in samples(SOURCE, host) if "eth0" not in series} == set()
    assert len(samples(SOURCE, host)) == len(COLUMNS)
