from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.btrfs import SOURCE
from vigie.sources.core.source import Unavailable

UUID = "0b1c2d3e-4f50-4162-8374-95a6b7c8d9e0"
POOL = f"""\
-- sys/fs/btrfs/features/raid56 --
1
-- sys/fs/btrfs/{UUID}/label --
pool
-- sys/fs/btrfs/{UUID}/commit_stats --
commits 12
last_commit_ms 5
max_commit_ms 70
total_commit_ms 1900
-- sys/fs/btrfs/{UUID}/allocation/global_rsv_size --
99
-- sys/fs/btrfs/{UUID}/allocation/data/bytes_reserved --
8192
-- sys/fs/btrfs/{UUID}/allocation/data/raid5/used_bytes --
10
-- sys/fs/btrfs/{UUID}/allocation/data/raid5/total_bytes --
30
-- sys/fs/btrfs/{UUID}/allocation/metadata/raid1c3/total_bytes --
7
-- sys/fs/btrfs/{UUID}/devices/sda/size --
2
-- sys/fs/btrfs/{UUID}/devices/sdb/size --
2
-- sys/fs/btrfs/{UUID}/devices/sdc/size --
N/A
"""


def test_space_is_told_by_kind_of_block_and_way_of_copying(machine: Machine, samples: Samples) -> None:
    host = machine(POOL)
    found = samples(SOURCE, host)
    data = f'uuid="{UUID}",block_group_type="data"'
    assert found[f'node_btrfs_info{{uuid="{UUID}",label="pool"}}'] == 1
    assert found[f"node_btrfs_reserved_bytes{{{data}}}"] == 8192
    assert found[f'node_btrfs_used_bytes{{{data},mode="raid5"}}'] == 10
    assert found[f'node_btrfs_size_bytes{{{data},mode="raid5"}}'] == 30
    assert found[f'node_btrfs_allocation_ratio{{{data},mode="raid5"}}'] == 1.5
    ratio = f'node_btrfs_allocation_ratio{{uuid="{UUID}",block_group_type="metadata",mode="raid1c3"}}'
    assert found[ratio] == 3
    assert found[f'node_btrfs_device_size_bytes{{uuid="{UUID}",device="sda"}}'] == 1024
    assert f'node_btrfs_device_size_bytes{{uuid="{UUID}",device="sdc"}}' not in found
    assert list(host.notes.values()) == ["invalid number 'N/A'"]


def test_commits_are_counted_and_timed_in_seconds(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(POOL))
    assert found[f'node_btrfs_commits_total{{uuid="{UUID}"}}'] == 12
    assert found[f'node_btrfs_commit_seconds_total{{uuid="{UUID}"}}'] == 1.9


def test_a_loaded_module_without_file_systems_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="no Btrfs"):
        samples(SOURCE, machine("-- sys/fs/btrfs/features/raid56 --\n1\n"))
