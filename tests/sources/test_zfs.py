from __future__ import annotations

from pathlib import Path

from tests.sources.conftest import Machine, Samples
from vigie.sources.zfs import SOURCE

ARC = """\
-- proc/spl/kstat/zfs/arcstats --
13 1 0x01 123 33456 6251872341 918273645546372
name                            type data
hits                            4    8772612
c_max                           4    33554432
memory_available_bytes          3    -1024
"""
POOL = """\
-- proc/spl/kstat/zfs/tank/io --
12 3 0x00 1 80 79205351707403 395818011156865
nread    nwritten reads    writes   wtime    wlentime wupdate  rtime    rlentime rupdate  wcnt     rcnt
100 200 3 4 5 6 7 8 9 10 11 12
-- proc/spl/kstat/zfs/tank/state --
DEGRADED
-- proc/spl/kstat/zfs/tank/objset-0x36 --
28 1 0x01 7 2160 5214787391 73405258558961
name                            type data
dataset_name                    7    tank/my files
writes                          4    5
-- proc/spl/kstat/zfs/tank/objset-0x37 --
28 1 0x01 7 2160 5214787391 73405258558961
name                            type data
dataset_name                    7    tank/plain
writes                          4    6
"""


def test_kstats_are_named_after_their_fields(machine: Machine, samples: Samples) -> None:
    host = machine(ARC + "-- proc/spl/kstat/zfs/fm --\n0 1\nname type data\nerpt-dropped 4 18\n")
    assert samples(SOURCE, host) == {
        "node_zfs_arc_hits": 8772612,
        "node_zfs_arc_c_max": 33554432,
        "node_zfs_arc_memory_available_bytes": -1024,
        "node_zfs_fm_erpt_dropped": 18,
    }


def test_a_second_read_gives_the_same_metrics_with_new_numbers(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(ARC + POOL)
    first = list(SOURCE.read(host))
    arcstats = tmp_path / "proc/spl/kstat/zfs/arcstats"
    arcstats.write_text(arcstats.read_text().replace("8772612", "8772613").replace("-1024", "1024"))
    second = list(SOURCE.read(host))
    assert [sample[:2] for sample in first] == [sample[:2] for sample in second]
    assert all(a[0] is b[0] for a, b in zip(first, second, strict=True))
    assert {v for m, _, v in second if m.name == "node_zfs_arc_hits"} == {8772613}


def test_pools_and_datasets_are_labelled_even_with_spaces(machine: Machine, samples: Samples) -> None:
    host = machine(POOL)
    for _ in range(2):
        found = samples(SOURCE, host)
        assert found['node_zfs_zpool_nwritten{zpool="tank"}'] == 200
        assert found['node_zfs_zpool_rcnt{zpool="tank"}'] == 12
        assert found['node_zfs_zpool_state{zpool="tank",state="degraded"}'] == 1
        assert found['node_zfs_zpool_state{zpool="tank",state="online"}'] == 0
        assert found['node_zfs_zpool_dataset_writes{zpool="tank",dataset="tank/my files"}'] == 5
        assert found['node_zfs_zpool_dataset_writes{zpool="tank",dataset="tank/plain"}'] == 6


def test_garbled_number_costs_only_itself_at_every_read(machine: Machine, samples: Samples) -> None:
    host = machine(ARC.replace("8772612", "N/A"))
    for _ in range(2):
        host.notes.clear()
        assert "node_zfs_arc_hits" not in samples(SOURCE, host)
        assert list(host.notes) == ["/proc/spl/kstat/zfs/arcstats hits"]


def test_a_name_that_fits_in_no_exposition_is_left_out(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(ARC.replace("c_max  ", "c max! "))).keys() == {
        "node_zfs_arc_hits",
        "node_zfs_arc_memory_available_bytes",
    }


def test_a_kstat_longer_than_a_page_is_read_to_its_end(machine: Machine, samples: Samples) -> None:
    rows = "".join(f"field_{number:<24} 4    {number}\n" for number in range(300))
    found = samples(SOURCE, machine(f"-- proc/spl/kstat/zfs/arcstats --\n13 1\nname type data\n{rows}"))
    assert len(found) == 300
