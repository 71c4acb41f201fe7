from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.diskstats import SOURCE

DISK = """\
-- proc/diskstats --
   8       0 sda 10 1 4 500 20 2 6 700 3 800 1200 5 1 64 9 7 11
   8       1 sda1 1 0 1 1 1 0 1 1 0 1 1
-- root/run/udev/data/b8:0 --
S:disk/by-id/ata-x
E:ID_ATA=1
E:ID_MODEL=ST18000
E:ID_SERIAL_SHORT=ZR50
E:ID_PATH=pci-0000:00:17.0-ata-1
E:ID_ATA_WRITE_CACHE=1
E:ID_ATA_ROTATION_RATE_RPM=7200
"""


def test_sectors_become_bytes_and_milliseconds_seconds(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(DISK))
    assert found['node_disk_read_bytes_total{device="sda"}'] == 4 * 512
    assert found['node_disk_written_bytes_total{device="sda"}'] == 6 * 512
    assert found['node_disk_read_time_seconds_total{device="sda"}'] == 0.5
    assert found['node_disk_io_time_weighted_seconds_total{device="sda"}'] == 1.2
    assert found['node_disk_io_now{device="sda"}'] == 3
    assert found['node_disk_discarded_sectors_total{device="sda"}'] == 64
    assert found['node_disk_flush_requests_time_seconds_total{device="sda"}'] == 0.011


def test_an_old_kernel_gives_fewer_series(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine("-- proc/diskstats --\n 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"))
    assert 'node_disk_io_time_weighted_seconds_total{device="sda"}' in found
    assert not [series for series in found if "discard" in series or "flush" in series]


def test_partitions_are_left_out_unless_asked_for(machine: Machine, samples: Samples) -> None:
    assert not [series for series in samples(SOURCE, machine(DISK)) if "sda1" in series]
    assert 'node_disk_reads_completed_total{device="sda1"}' in samples(SOURCE, machine(DISK, exclude="^loop"))


def test_udev_tells_which_disk_it_is(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(DISK))
    assert (
        found[
            'node_disk_info{device="sda",major="8",minor="0",path="pci-0000:00:17.0-ata-1",model="ST18000",serial="ZR50"}'
        ]
        == 1
    )
    assert found['node_disk_ata_rotation_rate_rpm{device="sda"}'] == 7200
    assert 'node_disk_ata_write_cache_enabled{device="sda"}' not in found


def test_a_disk_that_udev_does_not_know_has_its_numbers_all_the_same(
    machine: Machine, samples: Samples
) -> None:
    found = samples(SOURCE, machine("-- proc/diskstats --\n 254 0 vda 1 2 3 4 5 6 7 8 9 10 11\n"))
    assert found['node_disk_info{device="vda",major="254",minor="0"}'] == 1


def test_volumes_and_file_systems_are_named(machine: Machine, samples: Samples) -> None:
    archive = """\
-- proc/diskstats --
 253 0 dm-0 1 2 3 4 5 6 7 8 9 10 11
-- root/run/udev/data/b253:0 --
E:DM_NAME=vg0-root
E:DM_VG_NAME=vg0
E:DM_LV_NAME=root
E:ID_FS_TYPE=ext4
E:ID_FS_VERSION=1.0
"""
    found = samples(SOURCE, machine(archive))
    assert 'node_disk_device_mapper_info{device="dm-0",name="vg0-root",vg_name="vg0",lv_name="root"}' in found
    assert 'node_disk_filesystem_info{device="dm-0",type="ext4",version="1.0"}' in found


def test_a_disk_that_was_swapped_is_known_by_its_new_name(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(DISK)
    samples(SOURCE, host)
    stats, record = tmp_path / "proc/diskstats", tmp_path / "root/run/udev/data/b8:0"
    with_disk = stats.read_text()
    stats.write_text("")
    assert samples(SOURCE, host) == {}
    record.write_text("E:ID_MODEL=OTHER\n")
    stats.write_text(with_disk)
    assert 'node_disk_info{device="sda",major="8",minor="0",model="OTHER"}' in samples(SOURCE, host)


@pytest.mark.parametrize(
    "row", ["8 16 sdb 1 2 N/A 4 5 6 7 8 9 10 11", "8 16 sdb 1 2 -3 4 5 6 7 8 9 10 11", "8 16"]
)
def test_garbled_row_costs_only_itself(row: str, machine: Machine, samples: Samples) -> None:
    host = machine(f"-- proc/diskstats --\n{row}\n 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n")
    assert {series.split('"')[1] for series in samples(SOURCE, host)} == {"sda"}
    assert len(host.notes) == 1
