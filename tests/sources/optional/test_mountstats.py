from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.optional.mountstats import SOURCE

ARCHIVE = """-- proc/1/mountstats --
device nas:/home mounted on /home with fstype nfs4 statvers=1.1
	age:	10
	bytes:	1 2 3 4 5 6 7 8
	xprt:	rdma 0 1 2 3 4 50 60 7 8 9 10 11 12 13 14 15 16 17 18 19
	per-op statistics
	READ: 7 8 1 910 92039 12 41 53 2
	WRITE: 7 x 1
-- proc/1/mountinfo --
40 1 0:41 / /home rw shared:21 - nfs4 nas:/home rw,addr=192.0.2.10
"""
MOUNT = 'export="nas:/home",protocol="rdma",mountaddr="192.0.2.10"'


def test_numbers_that_rdma_has_for_itself_are_not_taken_for_slots(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE))
    assert found[f'node_mountstats_nfs_transport_sends_total{{{MOUNT},transport="0"}}'] == 50
    assert found[f'node_mountstats_nfs_transport_backlog_queue_total{{{MOUNT},transport="0"}}'] == 9
    assert not [series for series in found if "slots" in series or "pending" in series]


def test_a_garbled_operation_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE)
    found = samples(SOURCE, host)
    read = f'{{{MOUNT},operation="READ"}}'
    assert found["node_mountstats_nfs_operations_response_time_seconds_total" + read] == 0.041
    assert not [series for series in found if "WRITE" in series]
    assert len(host.notes) == 1
