from __future__ import annotations

from pathlib import Path

from tests.sources.conftest import Machine, Samples
from vigie.sources.nvme import SOURCE

ONE = """\
-- sys/class/nvme/nvme0/model --
Disk 9000
-- sys/class/nvme/nvme0/serial --
S1
-- sys/class/nvme/nvme0/firmware_rev --
F2
-- sys/class/nvme/nvme0/cntlid --
7
-- sys/class/nvme/nvme0/state --
live
-- sys/class/nvme/nvme0/nvme0c1n3/size --
1000
-- sys/class/nvme/nvme0/nvme0c1n3/queue/logical_block_size --
4096
-- sys/class/nvme/nvme0/nvme0c1n3/ana_state --
optimized
-- sys/class/nvme/nvme0/nvme0c1n3/nuse --
100
"""


def test_a_controller_is_named_and_its_namespaces_measured(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(ONE)) == {
        'node_nvme_info{device="nvme0",cntlid="7",firmware_revision="F2",model="Disk 9000",serial="S1",'
        'state="live"}': 1,
        'node_nvme_namespace_info{device="nvme0",nsid="3",ana_state="optimized"}': 1,
        'node_nvme_namespace_capacity_bytes{device="nvme0",nsid="3"}': 512000,
        'node_nvme_namespace_size_bytes{device="nvme0",nsid="3"}': 512000,
        'node_nvme_namespace_logical_block_size_bytes{device="nvme0",nsid="3"}': 4096,
    }


def test_the_state_is_read_every_time(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    host = machine(ONE)
    samples(SOURCE, host)
    (tmp_path / "sys/class/nvme/nvme0/state").write_text("dead\n")
    assert [series for series in samples(SOURCE, host) if 'state="dead"' in series]


def test_what_cannot_be_read_is_left_empty_and_noted(machine: Machine, samples: Samples) -> None:
    host = machine(
        ONE + "-- sys/class/nvme/nvme0/serial ! EACCES --\n-- sys/class/nvme/nvme0/nvme0c1n3/size ! EIO --\n"
    )
    found = samples(SOURCE, host)
    info = 'node_nvme_info{device="nvme0",cntlid="7",firmware_revision="F2",model="Disk 9000",state="live"}'
    assert info in found
    assert 'node_nvme_namespace_size_bytes{device="nvme0",nsid="3"}' not in found
    assert sorted(host.notes.values()) == ["Input/output error", "Permission denied"]


def test_used_bytes_are_told_when_asked_for(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ONE, used="on"))
    assert found['node_nvme_namespace_used_bytes{device="nvme0",nsid="3"}'] == 409600
