"""Containers from recorded cgroups of both versions, with values worked out by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workload.processes import BOOT, machine, process
from vigie.sources.core.host import Host
from vigie.sources.core.source import Unavailable
from vigie.workload.containers import SOURCE

A, B = "a1" * 32, "b2" * 32
V2 = "sys/fs/cgroup"
SCOPE = f"/system.slice/docker-{A}.scope"
JOB = "/system.slice/slurmstepd.scope/job_17"
DOCKER_2 = f"""\
-- {V2}/cgroup.controllers --
cpuset cpu io memory pids
-- {V2}/system.slice/ssh.service/cgroup.procs --
3
-- {V2}{SCOPE}/cgroup.procs --
7
8
-- {V2}{SCOPE}/cpu.stat --
usage_usec 3234035
user_usec 3110000
system_usec 124035
nr_periods 73
nr_throttled 41
throttled_usec 1625869
-- {V2}{SCOPE}/cpu.max --
50000 100000
-- {V2}{SCOPE}/cpu.weight --
100
-- {V2}{SCOPE}/memory.current --
21352448
-- {V2}{SCOPE}/memory.stat --
anon 57344
file 20971520
kernel 323584
file_mapped 4096
inactive_file 20860928
active_file 110592
pgfault 2172
pgmajfault 3
-- {V2}{SCOPE}/memory.max --
268435456
-- {V2}{SCOPE}/memory.swap.max --
max
-- {V2}{SCOPE}/memory.swap.current --
0
-- {V2}{SCOPE}/memory.peak --
22679552
-- {V2}{SCOPE}/memory.events --
low 0
high 0
max 6
oom 1
oom_kill 2
-- {V2}{SCOPE}/pids.current --
5
-- {V2}{SCOPE}/pids.max --
max
-- {V2}{SCOPE}/io.stat --
8:0 rbytes=4096 wbytes=1048576 rios=1 wios=16 dbytes=0 dios=0
253:1
-- {V2}{SCOPE}/cpu.pressure --
some avg10=1.00 avg60=0.50 avg300=0.10 total=2500000
full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
-- {V2}{SCOPE}/io.pressure --
some avg10=1.00 avg60=0.50 avg300=0.10 total=500000
full avg10=0.00 avg60=0.00 avg300=0.00 total=250000
-- {V2}{JOB}/step_0/user/task_0/cgroup.procs --
9
-- {V2}{JOB}/cgroup.procs --
-- {V2}{JOB}/memory.current --
1000
-- sys/dev/block/8:0/uevent --
MAJOR=8
MINOR=0
DEVNAME=sda
-- proc/1/ns/net -> net:[1] --
-- proc/7/ns/net -> net:[2] --
-- proc/8/ns/net -> net:[2] --
-- proc/7/net/dev --
Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier
    lo: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0
"""
PARTS = (
    DOCKER_2,
    process(7, uid=2001, start=60, cgroup=[f"0::{SCOPE}"]),
    process(8, uid=2001, start=70, cgroup=[f"0::{SCOPE}"]),
    process(9, uid=2002, start=80, cgroup=[f"0::{JOB}/step_0/user/task_0"]),
)


def read(host: Host, id_: str = SCOPE) -> dict[str, float]:
    host.bindings.clear()
    found = {}
    for metric, labels, value in SOURCE.read(host):
        if value is not None and (labels[:1] == (id_,) or not metric.labels):
            rest = labels[3:] if labels else ()
            found[" ".join((metric.name.replace("container_", ""), *rest))] = value
    return found


def test_version_2_gives_cadvisors_values(tmp_path: Path) -> None:
    host = machine(tmp_path, *PARTS)
    assert read(host) == {
        "last_seen": BOOT + 5000,
        "start_time_seconds": BOOT + 60,
        "processes": 2,
        "threads": 5,
        "threads_max": 0,
        "cpu_usage_seconds_total total": pytest.approx(3.234035),
        "cpu_user_seconds_total": pytest.approx(3.11),
        "cpu_system_seconds_total": pytest.approx(0.124035),
        "cpu_cfs_periods_total": 73,
        "cpu_cfs_throttled_periods_total": 41,
        "cpu_cfs_throttled_seconds_total": pytest.approx(1.625869),
        "spec_cpu_quota": 50000,
        "spec_cpu_period": 100000,
        "spec_cpu_shares": 2597,
        "memory_usage_bytes": 21352448,
        "memory_working_set_bytes": 21352448 - 20860928,
        "memory_rss": 57344,
        "memory_cache": 20971520,
        "memory_mapped_file": 4096,
        "memory_kernel_usage": 323584,
        "memory_total_active_file_bytes": 110592,
        "memory_total_inactive_file_bytes": 20860928,
        "memory_swap": 0,
        "memory_max_usage_bytes": 22679552,
        "memory_failcnt": 6,
        "oom_events_total": 2,
        "memory_failures_total pgfault container": 2172,
        "memory_failures_total pgfault hierarchy": 2172,
        "memory_failures_total pgmajfault container": 3,
        "memory_failures_total pgmajfault hierarchy": 3,
        "spec_memory_limit_bytes": 268435456,
        "spec_memory_swap_limit_bytes": 0,
        "fs_reads_bytes_total /dev/sda": 4096,
        "fs_writes_bytes_total /dev/sda": 1048576,
        "fs_reads_total /dev/sda": 1,
        "fs_writes_total /dev/sda": 16,
        "pressure_cpu_waiting_seconds_total": 2.5,
        "pressure_cpu_stalled_seconds_total": 1.0,
        "pressure_io_waiting_seconds_total": 0.5,
        "pressure_io_stalled_seconds_total": 0.25,
        "network_receive_bytes_total eth0": 1000,
        "network_receive_packets_total eth0": 10,
        "network_receive_errors_total eth0": 1,
        "network_receive_packets_dropped_total eth0": 2,
        "network_transmit_bytes_total eth0": 2000,
        "network_transmit_packets_total eth0": 20,
        "network_transmit_errors_total eth0": 3,
        "network_transmit_packets_dropped_total eth0": 4,
        "machine_memory_bytes": 1000000 * 1024,
        "machine_swap_bytes": 0,
        "machine_cpu_cores": 5,
    }
    assert host.notes == {}


def test_container_and_job_hold_their_cgroups(tmp_path: Path) -> None:
    host = machine(tmp_path, *PARTS)
    assert read(host, JOB)["memory_usage_bytes"] == 1000
    held = {(one.resource, one.holder_kind, one.holder, one.user, one.from_ms) for one in host.bindings}
    assert held == {
        (f"cgroup:{SCOPE}", "container", A[:12], "alice", (BOOT + 60) * 1000),
        (f"cgroup:{JOB}", "job", "17", "bob", (BOOT + 80) * 1000),
    }


def test_container_that_has_ended_is_gone_at_the_next_read(tmp_path: Path) -> None:
    host = machine(tmp_path, *PARTS)
    read(host)
    shutil.rmtree(tmp_path / f"{V2}{SCOPE}")
    assert "memory_usage_bytes" not in read(host)
    assert {one.holder_kind for one in host.bindings} == {"job"}


def _version_1(**paths: str) -> str:
    """Return the files of a container that each controller has at its own place."""
    top = f"docker/{A}"
    files = {
        f"cpuacct/{top}/cpuacct.usage": "3234035014",
        f"cpuacct/{top}/cpuacct.stat": "user 311\nsystem 11",
        f"cpu/{top}/cpu.stat": "nr_periods 73\nnr_throttled 41\nthrottled_time 1625869044",
        f"cpu/{top}/cpu.cfs_quota_us": "50000",
        f"cpu/{top}/cpu.cfs_period_us": "100000",
        f"cpu/{top}/cpu.shares": "1024",
        f"memory/{top}/memory.usage_in_bytes": "21352448",
        f"memory/{top}/memory.max_usage_in_bytes": "22679552",
        f"memory/{top}/memory.limit_in_bytes": "9223372036854771712",
        f"memory/{top}/memory.failcnt": "4",
        f"memory/{top}/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1",
        f"memory/{top}/memory.stat": "cache 1\nrss 2\ntotal_cache 20971520\ntotal_rss 57344\n"
        "total_inactive_file 1000000\ntotal_pgfault 2172\ntotal_pgmajfault 0\ntotal_swap 0",
        f"memory/{top}/cgroup.procs": "7",
        f"blkio/{top}/blkio.throttle.io_service_bytes_recursive": "8:0 Read 4096\n8:0 Write 8192\n"
        "8:0 Sync 12288\n8:0 Total 12288\nTotal 12288",
        f"blkio/{top}/blkio.throttle.io_serviced_recursive": "8:0 Read 1\n8:0 Write 2\nTotal 3",
        f"pids/{top}/pids.current": "6",
        **paths,
    }
    return "".join(f"-- sys/fs/cgroup/{path} --\n{text}\n" for path, text in files.items())


def test_version_1_gives_the_same_metrics(tmp_path: Path) -> None:
    found = read(machine(tmp_path, _version_1(), process(7)), f"/docker/{A}")
    assert found["cpu_usage_seconds_total total"] == pytest.approx(3.234035014)
    assert found["cpu_user_seconds_total"] == pytest.approx(3.11)
    assert found["cpu_cfs_throttled_seconds_total"] == pytest.approx(1.625869044)
    assert found["memory_usage_bytes"] == 21352448
    assert found["memory_working_set_bytes"] == 20352448
    assert found["memory_rss"] == 57344
    assert found["memory_failcnt"] == 4
    assert found["oom_events_total"] == 1
    assert found["spec_memory_limit_bytes"] == 0, "the largest number is no limit"
    assert found["fs_writes_bytes_total 8:0"] == 8192, "a device without a name keeps its number"
    assert found["threads"] == 6
    assert not any("pressure" in name for name in found)


def test_hybrid_machine_has_its_pressure_in_the_other_tree(tmp_path: Path) -> None:
    some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000"
    extra = {"unified/cpu.pressure": some, f"unified/docker/{A}/cpu.pressure": some}
    found = read(machine(tmp_path, _version_1(**extra), process(7)), f"/docker/{A}")
    assert found["pressure_cpu_waiting_seconds_total"] == 3.0


def test_joined_controllers_are_found_by_each_name(tmp_path: Path) -> None:
    text = (
        _version_1()
        .replace("cgroup/cpu/", "cgroup/cpu,cpuacct/")
        .replace("cgroup/cpuacct/", "cgroup/cpu,cpuacct/")
    )
    found = read(machine(tmp_path, text, process(7)), f"/docker/{A}")
    assert {"cpu_usage_seconds_total total", "cpu_cfs_periods_total"} <= set(found)


def test_podman_container_below_its_scope_is_counted_with_its_processes(tmp_path: Path) -> None:
    scope = f"/machine.slice/libpod-{B}.scope"
    tree = f"""\
-- {V2}/cgroup.controllers --
memory
-- {V2}/machine.slice/libpod-conmon-{B}.scope/cgroup.procs --
5
-- {V2}{scope}/cgroup.procs --
-- {V2}{scope}/memory.current --
77
-- {V2}{scope}/container/cgroup.procs --
7
"""
    host = machine(tmp_path, tree, process(7, uid=2001))
    assert (read(host, scope)["processes"], read(host, scope)["memory_usage_bytes"]) == (1, 77)
    assert [one.holder for one in host.bindings] == [B[:12]]


def test_network_of_the_machine_itself_is_no_containers(tmp_path: Path) -> None:
    host = machine(tmp_path, *PARTS)
    (tmp_path / "proc/7/ns/net").unlink()
    (tmp_path / "proc/7/ns/net").symlink_to("net:[1]")
    assert not any("network" in name for name in read(host))


def test_containerd_names_a_container_of_any_name(tmp_path: Path) -> None:
    tree = f"""\
-- {V2}/cgroup.controllers --
memory
-- {V2}/default/c1/cgroup.procs --
7
-- {V2}/default/c1/memory.current --
5
-- root/run/containerd/io.containerd.runtime.v2.task/default/c1/config.json --
{{"linux": {{"cgroupsPath": "/default/c1"}}}}
-- root/run/containerd/io.containerd.runtime.v2.task/default/c2/config.json --
not JSON
-- root/run/containerd/io.containerd.runtime.v2.task/moby/c3/config.json --
{{"linux": {{"cgroupsPath": "/default/c3"}}}}
"""
    host = machine(tmp_path, tree, process(7))
    assert read(host, "/default/c1")["memory_usage_bytes"] == 5
    assert [(one.resource, one.holder) for one in host.bindings] == [("cgroup:/default/c1", "c1")]


def test_labels_of_containers_are_given_when_asked_for(tmp_path: Path) -> None:
    host = machine(tmp_path, *PARTS, labels="team com.example/project")
    metric, labels, _ = next(
        one for one in SOURCE.read(host) if one[0].name == "container_memory_usage_bytes"
    )
    assert metric.labels == (
        "id",
        "name",
        "image",
        "container_label_team",
        "container_label_com_example_project",
    )
    assert len(labels) == 5


def test_machine_without_cgroups_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cgroups"):
        list(SOURCE.read(machine(tmp_path)))


FILES = [
    *("cpu.stat", "cpu.max", "cpu.weight", "memory.current", "memory.stat", "memory.max", "memory.events"),
    *("io.stat", "cpu.pressure", "pids.current", "cgroup.procs"),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=120)
@given(
    name=st.sampled_from(FILES),
    text=st.binary(max_size=200)
    | st.just(b"9" * 9000)
    | st.text("0123456789 :=\nmax.-", max_size=99).map(str.encode),
)
def test_any_garbage_in_a_cgroups_file_is_survived(tmp_path: Path, name: str, text: bytes) -> None:
    host = machine(tmp_path, *PARTS)
    (tmp_path / f"{V2}{SCOPE}/{name}").write_bytes(text)
    for _, _, value in SOURCE.read(host):
        assert value is None or value >= 0
