from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.vmstat import SOURCE


def test_only_paging_faults_and_kills_are_kept(machine: Machine, samples: Samples) -> None:
    host = machine("""-- proc/vmstat --
pgpgin 1
nr_free_pages 77
pswpin 2
pgfault 3
pgmajfault 4
pgscan_direct_throttle 5
thp_fault_alloc 6
oom_kill 7
""")
    assert samples(SOURCE, host) == {
        "node_vmstat_pgpgin": 1,
        "node_vmstat_pswpin": 2,
        "node_vmstat_pgfault": 3,
        "node_vmstat_pgmajfault": 4,
        "node_vmstat_oom_kill": 7,
    }


def test_garbled_field_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/vmstat --\npgfault x\npgmajfault\npgpgin 1 2\npgpgout 5")
    assert samples(SOURCE, host) == {"node_vmstat_pgpgout": 5}
    assert list(host.notes) == ["/proc/vmstat pgfault", "/proc/vmstat pgpgin"]
