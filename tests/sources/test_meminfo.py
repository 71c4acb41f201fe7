from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.meminfo import SOURCE


def test_fields_become_bytes_with_brackets_spelt_out(machine: Machine, samples: Samples) -> None:
    host = machine("""-- proc/meminfo --
MemTotal:       65712384 kB
Active(anon):    3120394 kB
HugePages_Total:       4
Hugepagesize:       2048 kB
DirectMap1G:    37748736 kB
""")
    assert samples(SOURCE, host) == {
        "node_memory_MemTotal_bytes": 65712384 * 1024,
        "node_memory_Active_anon_bytes": 3120394 * 1024,
        "node_memory_HugePages_Total": 4,
        "node_memory_Hugepagesize_bytes": 2048 * 1024,
        "node_memory_DirectMap1G_bytes": 37748736 * 1024,
    }


def test_field_of_a_newer_kernel_is_passed_on(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/meminfo --\nMemTotal: 1 kB\nQuantum(warm): 3 kB\n")
    assert samples(SOURCE, host)["node_memory_Quantum_warm_bytes"] == 3072


def test_name_that_no_metric_can_have_is_left_out(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/meminfo --\nMemTotal: 1 kB\nbad-name: 3 kB\n*: 4 kB\n\udcff: 5 kB\n: 6 kB\n")
    assert samples(SOURCE, host) == {"node_memory_MemTotal_bytes": 1024}


def test_unreadable_number_is_no_zero(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/meminfo --\nMemTotal: N/A kB\nMemFree:\nCached: 5 kB\n")
    assert samples(SOURCE, host) == {"node_memory_Cached_bytes": 5120}
    assert sorted(host.notes) == ["/proc/meminfo MemFree:", "/proc/meminfo MemTotal:"]
