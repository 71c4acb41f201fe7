from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.meminfo_numa import SOURCE

NODES = "sys/devices/system/node"
TWO_NODES = f"""-- {NODES}/online --
0-1
-- {NODES}/node0/meminfo --
Node 0 MemTotal:       16384 kB
Node 0 Active(anon):    2048 kB
Node 0 HugePages_Free:     3
-- {NODES}/node0/numastat --
numa_hit 100
other_node 7
-- {NODES}/node1/meminfo --
Node 1 MemTotal:       32768 kB
Node 1 Active(anon):    1024 kB
Node 1 HugePages_Free:     4
-- {NODES}/node1/numastat --
numa_hit 200
other_node 9
"""


def test_each_node_has_its_own_numbers(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(TWO_NODES))
    assert found['node_memory_numa_MemTotal{node="0"}'] == 16384 * 1024
    assert found['node_memory_numa_MemTotal{node="1"}'] == 32768 * 1024
    assert found['node_memory_numa_Active_anon{node="1"}'] == 1024 * 1024
    assert found['node_memory_numa_HugePages_Free{node="1"}'] == 4
    assert found['node_memory_numa_numa_hit_total{node="0"}'] == 100
    assert found['node_memory_numa_other_node_total{node="1"}'] == 9
    assert len(found) == 10


def test_unreadable_node_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(TWO_NODES + f"-- {NODES}/node0/meminfo ! EIO --\n")
    found = samples(SOURCE, host)
    assert 'node_memory_numa_MemTotal{node="0"}' not in found
    assert found['node_memory_numa_numa_hit_total{node="0"}'] == 100
    assert found['node_memory_numa_MemTotal{node="1"}'] == 32768 * 1024
    assert [where.endswith("node0/meminfo") for where in host.notes] == [True]


def test_machine_without_nodes_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="NUMA"):
        samples(SOURCE, machine(""))
