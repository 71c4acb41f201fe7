from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.optional.cpu_numa import SOURCE

ARCHIVE = """-- proc/stat --
cpu  300 0 0 3000 0 0 0 0 0 0
cpu0 100 0 0 1000 0 0 0 0 0 0
cpu1 200 0 0 2000 0 0 0 0 0 0
cpu2 400 0 0 4000 0 0 0 0 0 0
-- sys/devices/system/node/online --
0-1
-- sys/devices/system/node/node0/cpulist --
0,2
-- sys/devices/system/node/node1/cpulist --
1
"""


def test_time_is_summed_over_the_cores_of_a_node(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE))
    assert found['vigie_numa_cpu_seconds_total{node="0",mode="user"}'] == 5
    assert found['vigie_numa_cpu_seconds_total{node="1",mode="idle"}'] == 20
    assert found['vigie_cpu_numa_info{cpu="2",node="0"}'] == 1


def test_a_garbled_core_costs_its_node(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE.replace("cpu2 400", "cpu2 x")))
    assert 'vigie_numa_cpu_seconds_total{node="0",mode="user"}' not in found
    assert found['vigie_numa_cpu_seconds_total{node="1",mode="user"}'] == 2
