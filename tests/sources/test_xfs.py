from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.xfs import SOURCE


def test_columns_have_names(machine: Machine, samples: Samples) -> None:
    archive = """\
-- sys/fs/xfs/sda1/stats/stats --
ig 1 2 3 4 5 6 7
rw 8 9
xpc 1 2 3
-- sys/fs/xfs/stats/stats --
rw 1 1
"""
    found = samples(SOURCE, machine(archive))
    assert found['node_xfs_inode_operation_missed_total{device="sda1"}'] == 4
    assert found['node_xfs_write_calls_total{device="sda1"}'] == 8
    assert found['node_xfs_read_calls_total{device="sda1"}'] == 9
    assert len(found) == 9


def test_garbled_line_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine("-- sys/fs/xfs/sda1/stats/stats --\ndir 1 x 3 4\nrw 8\n")
    assert samples(SOURCE, host) == {'node_xfs_write_calls_total{device="sda1"}': 8}
    assert list(host.notes) == ["/sys/fs/xfs/sda1/stats/stats dir"]
