from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.uname import SOURCE

CALLS = '-- calls.json --\n{"uname": ["Linux", "gpu17", "5.14.0", "#1 SMP", "x86_64"]}\n'


def test_labels_stand_in_their_own_order(machine: Machine, samples: Samples) -> None:
    host = machine(CALLS + "-- proc/sys/kernel/domainname --\n(none)\n")
    labels = 'sysname="Linux",release="5.14.0",version="#1 SMP",machine="x86_64",nodename="gpu17"'
    assert samples(SOURCE, host) == {f'node_uname_info{{{labels},domainname="(none)"}}': 1}


def test_unreadable_domain_costs_only_its_label(machine: Machine, samples: Samples) -> None:
    host = machine(CALLS + "-- proc/sys/kernel/domainname ! EACCES --\n")
    (series,) = samples(SOURCE, host)
    assert 'nodename="gpu17"' in series
    assert len(host.notes) == 1
