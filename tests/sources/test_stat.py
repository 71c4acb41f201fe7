from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.stat import SOURCE

STAT = """-- proc/stat --
cpu  1 2 3 4
cpu0 1 2 3 4
intr 1000 1 2 3
ctxt 2000
btime 1759000000
processes 3000
procs_running 4
procs_blocked 5
softirq 360 10 20 30 40 50 60 70 80 90 100
"""


def test_first_number_of_each_line_counts(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(STAT, softirq="off")) == {
        "node_intr_total": 1000,
        "node_context_switches_total": 2000,
        "node_boot_time_seconds": 1759000000,
        "node_forks_total": 3000,
        "node_procs_running": 4,
        "node_procs_blocked": 5,
    }


def test_soft_interrupts_are_told_apart_when_asked_for(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(STAT, softirq="on"))
    assert found['node_softirqs_total{vector="hi"}'] == 10
    assert found['node_softirqs_total{vector="net_rx"}'] == 40
    assert found['node_softirqs_total{vector="rcu"}'] == 100
    assert sum("softirqs" in series for series in found) == 10


def test_garbled_line_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/stat --\nintr\nctxt x\nbtime 5\nsoftirq 1 2 x\n", softirq="on")
    assert samples(SOURCE, host) == {"node_boot_time_seconds": 5}
    assert list(host.notes) == ["/proc/stat intr", "/proc/stat ctxt", "/proc/stat softirq"]
