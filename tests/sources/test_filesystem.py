from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.host import Host, Statvfs, SystemCalls
from vigie.sources.filesystem import SOURCE

TWO = """\
-- proc/1/mountinfo --
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 0:40 / /dead rw - nfs4 nas:/dead rw
22 20 0:5 / /dev rw - devtmpfs devtmpfs rw
23 20 0:6 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw
-- calls.json --
{"statvfs": {"/": [1000, 600, 500, 40, 30, false], "/my disk": [1, 1, 1, 1, 1, true],
 "/dead": [7, 6, 5, 4, 3, false]}}
"""
DEAD = 'device="nas:/dead",fstype="nfs4",mountpoint="/dead"'
ROOT = 'device="/dev/sda1",fstype="ext4",mountpoint="/"'


class Hanging(SystemCalls):
    """A machine whose /dead answers only once it is let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.let_go = threading.Event()

    def statvfs(self, path: str) -> Statvfs:
        self.asked.append(path.rpartition("/root")[2])
        if path.endswith("/dead"):
            self.let_go.wait(60)
        return Statvfs(1000, 600, 500, 40, 30, False)


@pytest.fixture
def hanging(machine: Machine) -> Iterator[Host]:
    host = machine(TWO, deadline="0.05")
    host.calls = calls = Hanging()
    yield host
    calls.let_go.set()


def test_room_is_told_for_every_mount_that_is_wanted(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(TWO))
    assert {k: v for k, v in found.items() if ROOT in k} == {
        f"node_filesystem_size_bytes{{{ROOT}}}": 1000,
        f"node_filesystem_free_bytes{{{ROOT}}}": 600,
        f"node_filesystem_avail_bytes{{{ROOT}}}": 500,
        f"node_filesystem_files{{{ROOT}}}": 40,
        f"node_filesystem_files_free{{{ROOT}}}": 30,
        f"node_filesystem_readonly{{{ROOT}}}": 0,
        f"node_filesystem_device_error{{{ROOT}}}": 0,
    }
    assert 'node_filesystem_mount_info{device="/dev/sda1",major="8",minor="1",mountpoint="/"}' in found
    assert not [series for series in found if '/dev"' in series or "docker" in series]


def test_a_dead_mount_costs_only_itself(hanging: Host, samples: Samples) -> None:
    found = samples(SOURCE, hanging)
    assert found[f"node_filesystem_size_bytes{{{ROOT}}}"] == 1000
    assert {k: v for k, v in found.items() if "/dead" in k} == {
        f'node_filesystem_device_error{{{DEAD},device_error="mountpoint timeout"}}': 1
    }
    assert "/dead" in hanging.notes


def test_a_dead_mount_is_not_asked_again_and_holds_one_thread(hanging: Host, samples: Samples) -> None:
    samples(SOURCE, hanging)
    threads = threading.active_count()
    for _ in range(3):
        assert f'node_filesystem_device_error{{{DEAD},device_error="mountpoint timeout"}}' in samples(
            SOURCE, hanging
        )
    assert isinstance(hanging.calls, Hanging)
    assert hanging.calls.asked.count("/dead") == 1
    assert hanging.calls.asked.count("/") == 4
    assert threading.active_count() <= threads


def test_a_mount_that_comes_back_is_told_again(hanging: Host, samples: Samples) -> None:
    samples(SOURCE, hanging)
    assert isinstance(hanging.calls, Hanging)
    hanging.calls.let_go.set()
    found: dict[str, float] = {}
    for _ in range(10_000):  # until the old call has returned
        found = samples(SOURCE, hanging)
        if f"node_filesystem_size_bytes{{{DEAD}}}" in found:
            break
    assert found[f"node_filesystem_device_error{{{DEAD}}}"] == 0
    assert all(question.done for question in hanging.cache["stuck"].values())


def test_another_mount_at_the_place_of_a_dead_one_is_asked(hanging: Host, samples: Samples) -> None:
    samples(SOURCE, hanging)
    assert isinstance(hanging.calls, Hanging)
    mounts = hanging.proc.read("1/mountinfo").replace("21 20 0:40 / /dead", "99 20 0:41 / /dead")
    with open(f"{hanging.proc.top}/1/mountinfo", "w", encoding="utf-8") as file:
        file.write(mounts)
    hanging.calls.let_go.set()
    assert f"node_filesystem_size_bytes{{{DEAD}}}" in samples(SOURCE, hanging)


def test_a_mount_that_cannot_be_asked_says_only_that(machine: Machine, samples: Samples) -> None:
    host = machine(
        '-- proc/1/mountinfo --\n20 1 8:1 / /gone rw - ext4 /dev/sda1 rw\n-- calls.json --\n{"statvfs": {}}\n'
    )
    series = 'node_filesystem_device_error{device="/dev/sda1",fstype="ext4",mountpoint="/gone"}'
    assert samples(SOURCE, host) == {series: 1}
    assert host.notes == {"/gone": "No such file or directory"}


def test_escapes_in_a_mount_point_are_undone(machine: Machine, samples: Samples) -> None:
    host = machine(TWO.replace("/dead rw - nfs4 nas:/dead", r"/my\040disk ro - nfs4 nas:/my\040disk"))
    found = samples(SOURCE, host)
    assert (
        found[r'node_filesystem_readonly{device="nas:/my\\040disk",fstype="nfs4",mountpoint="/my disk"}'] == 1
    )


def test_only_the_uppermost_of_two_mounts_at_one_place_is_told(machine: Machine, samples: Samples) -> None:
    host = machine(TWO.replace("-- calls", "29 20 8:2 / / rw - xfs /dev/sdb rw\n-- calls"))
    sizes = [
        series
        for series in samples(SOURCE, host)
        if series.startswith("node_filesystem_size") and "/dead" not in series
    ]
    assert sizes == ['node_filesystem_size_bytes{device="/dev/sdb",fstype="xfs",mountpoint="/"}']


def test_our_own_mounts_stand_in_where_those_of_init_are_forbidden(
    machine: Machine, samples: Samples
) -> None:
    archive = TWO.replace("proc/1/mountinfo", "proc/self/mountinfo") + "-- proc/1/mountinfo ! EACCES --\n"
    assert f"node_filesystem_size_bytes{{{ROOT}}}" in samples(SOURCE, machine(archive))


def test_what_is_excluded_can_be_chosen(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(TWO, exclude_mounts="^/dead$", exclude_types="^ext4$"))
    assert {series.split('mountpoint="')[1].split('"')[0] for series in found} == {
        "/dev",
        "/var/lib/docker/overlay2/x/merged",
    }


def test_a_line_that_is_cut_short_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(TWO.replace("20 1 8:1", "19 1 8:3 / /cut rw\n20 1 8:1"))
    assert f"node_filesystem_size_bytes{{{ROOT}}}" in samples(SOURCE, host)
    assert list(host.notes) == ["mountinfo 19 1 8:3 / /cut rw"]
