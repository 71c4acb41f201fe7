from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.arp import SOURCE

ARCHIVE = """-- proc/net/arp --
IP address       HW type     Flags       HW address            Mask     Device
192.0.2.1        0x1         0x2         02:fc:00:00:00:05     *        eth0
192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        eth0
192.0.2.3        0x1         0x6         02:fc:00:00:00:06     *        eth1
"""


def test_entries_are_counted_by_interface_even_unanswered_ones(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(ARCHIVE)) == {
        'node_arp_entries{device="eth0"}': 2,
        'node_arp_entries{device="eth1"}': 1,
    }


def test_garbled_line_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE + "192.0.2.4        0x1\n")
    assert len(samples(SOURCE, host)) == 2
    assert "/proc/net/arp" in host.notes
