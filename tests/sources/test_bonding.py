from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.bonding import SOURCE
from vigie.sources.core.source import Unavailable

ARCHIVE = """-- sys/class/net/bonding_masters --
bond0 bond1
-- sys/class/net/bond0/bonding/slaves --
eth0 eth1
-- sys/class/net/bond0/lower_eth0/bonding_slave/mii_status --
up
-- sys/class/net/bond0/lower_eth1/bonding_slave/mii_status --
down
-- sys/class/net/bond1/bonding/slaves --
"""


def test_links_that_are_up_are_counted(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(ARCHIVE)) == {
        'node_bonding_slaves{master="bond0"}': 2,
        'node_bonding_active{master="bond0"}': 1,
        'node_bonding_slaves{master="bond1"}': 0,
        'node_bonding_active{master="bond1"}': 0,
    }


def test_older_kernels_name_the_links_otherwise(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE.replace("lower_", "slave_")))
    assert found['node_bonding_active{master="bond0"}'] == 1


def test_link_of_unknown_state_leaves_the_count_untold(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE.replace("eth0 eth1", "eth0 eth1 eth2"))
    found = samples(SOURCE, host)
    assert found['node_bonding_slaves{master="bond0"}'] == 3
    assert 'node_bonding_active{master="bond0"}' not in found
    assert list(host.notes) == ["/sys/class/net/bond0 eth2"]


@pytest.mark.parametrize("archive", ["", "-- sys/class/net/bonding_masters --\n\n"])
def test_machine_without_bonds_says_so(machine: Machine, archive: str) -> None:
    with pytest.raises(Unavailable, match="bonding"):
        list(SOURCE.read(machine(archive)))
