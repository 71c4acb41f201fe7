from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.mdadm import SOURCE


def _state(found: dict[str, float]) -> str:
    (series,) = [series for series, value in found.items() if series.startswith("node_md_state") and value]
    return series.split('state="')[1].rstrip('"}')


@pytest.mark.parametrize(
    ("progress", "state", "synced"),
    [
        ("[=>...]  recovery =  7.4% (13/100) finish=1.2min speed=4K/sec", "recovering", 13),
        ("[=>...]  resync =  7.4% (14/100) finish=1.2min speed=4K/sec", "resync", 14),
        ("[=>...]  check =  7.4% (15/100) finish=1.2min speed=4K/sec", "check", 15),
        ("[=>...]  reshape =  7.4% (16/100) finish=1.2min speed=4K/sec", "reshape", 16),
        ("	resync=DELAYED", "resync", 0),
        ("	recovery=PENDING", "recovering", 0),
        ("bitmap: 0/1 pages [0KB], 65536KB chunk", "active", 100),
    ],
)
def test_progress_tells_the_state(
    progress: str, state: str, synced: int, machine: Machine, samples: Samples
) -> None:
    archive = f"""\
-- proc/mdstat --
Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0](F) sdc1[2](S)
      100 blocks super 1.2 [2/1] [_U]
      {progress}

unused devices: <none>
"""
    found = samples(SOURCE, machine(archive))
    assert _state(found) == state
    assert found['node_md_blocks_synced{device="md0"}'] == synced
    assert found['node_md_blocks{device="md0"}'] == 100
    assert found['node_md_disks_required{device="md0"}'] == 2
    assert [found[f'node_md_disks{{device="md0",state="{s}"}}'] for s in ("active", "failed", "spare")] == [
        1,
        1,
        1,
    ]


def test_a_striped_array_needs_all_its_members(machine: Machine, samples: Samples) -> None:
    archive = (
        "-- proc/mdstat --\nmd0 : active raid0 sdb1[1] sda1[0]\n      100 blocks super 1.2 512k chunks\n"
    )
    found = samples(SOURCE, machine(archive))
    assert found['node_md_disks{device="md0",state="active"}'] == 2
    assert found['node_md_disks_required{device="md0"}'] == 2


def test_an_array_that_did_not_start_is_inactive(machine: Machine, samples: Samples) -> None:
    archive = "-- proc/mdstat --\nmd0 : inactive sdt[1](S) sds[0](S)\n      6306 blocks super external:imsm\n"
    found = samples(SOURCE, machine(archive))
    assert _state(found) == "inactive"
    assert found['node_md_disks{device="md0",state="spare"}'] == 2


def test_sysfs_adds_how_many_disks_are_missing(machine: Machine, samples: Samples) -> None:
    archive = """\
-- proc/mdstat --
md0 : active raid1 sda1[0]
      100 blocks super 1.2 [2/1] [U_]
-- sys/block/md0/md/degraded --
1
-- sys/block/md0/md/raid_disks --
2
"""
    found = samples(SOURCE, machine(archive))
    assert found['node_md_degraded{device="md0"}'] == 1
    assert found['node_md_raid_disks{device="md0"}'] == 2


def test_progress_that_makes_no_sense_is_not_zero(machine: Machine, samples: Samples) -> None:
    archive = "-- proc/mdstat --\nmd0 : active raid1 sda1[0]\n 100 blocks [2/1] [U_]\n  recovery = ?\n"
    assert 'node_md_blocks_synced{device="md0"}' not in samples(SOURCE, machine(archive))


@pytest.mark.parametrize("status", ["N/A blocks [2/2] [UU]", "100 blocks [2/", "-5 blocks [2/2] [UU]", ""])
def test_garbled_array_costs_only_itself(status: str, machine: Machine, samples: Samples) -> None:
    host = machine(
        f"-- proc/mdstat --\nmd0 : active raid1 sda[0]\n      {status}\n"
        "md1 : active raid1 sdb[0]\n      9 blocks [1/1] [U]\n"
    )
    assert {series.split('"')[1] for series in samples(SOURCE, host)} == {"md1"}
    assert list(host.notes) == ["/proc/mdstat md0"]


def test_a_machine_without_arrays_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="no software RAID"):
        samples(SOURCE, machine("-- proc/mdstat --\nPersonalities : [raid1]\nunused devices: <none>\n"))
