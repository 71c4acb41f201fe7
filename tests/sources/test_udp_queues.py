from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.udp_queues import SOURCE

HEADER = "-- proc/net/udp --\n  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
IDLE = "  1: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000   0  0 17 2 0 0\n"
BUSY = "  2: 00000000:0045 00000000:0000 07 00000015:000002FF 00:00000000 00000000   0  0 18 2 0 0\n"
SIX = "-- proc/net/udp6 --\n  sl  local_address                         remote_address\n"


def test_queues_are_added_up(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(HEADER + IDLE + BUSY + BUSY + SIX)) == {
        'node_udp_queues{queue="tx",ip="v4"}': 2 * 0x15,
        'node_udp_queues{queue="rx",ip="v4"}': 2 * 0x2FF,
        'node_udp_queues{queue="tx",ip="v6"}': 0,
        'node_udp_queues{queue="rx",ip="v6"}': 0,
    }


def test_kernel_without_ipv6_tells_nothing_of_it(machine: Machine, samples: Samples) -> None:
    assert len(samples(SOURCE, machine(HEADER + IDLE))) == 2


@pytest.mark.parametrize("line", ["  3: 00000000:0046", BUSY.replace("FF", "ZZ"), BUSY.replace("15:", "15 ")])
def test_garbled_line_costs_only_itself(machine: Machine, samples: Samples, line: str) -> None:
    host = machine(HEADER + line.rstrip("\n") + "\n" + BUSY)
    assert samples(SOURCE, host)['node_udp_queues{queue="rx",ip="v4"}'] == 0x2FF
    assert "/proc/net/udp" in host.notes
