from __future__ import annotations

import fcntl
import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workload.conftest import Machine, Samples
from vigie.sources.core.driver import GpuProcess, GpuState
from vigie.sources.core.source import Unavailable
from vigie.workload.genv import SOURCE

MIB = 1 << 20
TOTAL = 81559 * MIB
KERNEL = "9f2d6a10-0000-4000-8000-000000000001"
ALICE = {
    "eid": "42",
    "uid": 1000,
    "creation": "18/11/2026 09:26:00",
    "username": "alice",
    "config": {"name": "train", "gpu_memory": None, "gpus": None},
    "pids": [9954],
    "kernel_ids": [],
}
BOB = {
    "eid": "kern-7",
    "uid": 1001,
    "creation": "18/11/2026 09:26:41",
    "username": "bob",
    "config": {"name": None, "gpu_memory": None, "gpus": None},
    "pids": [],
    "kernel_ids": [KERNEL],
}
DIRECTORY = "root/var/tmp/genv"


def _device(index: int, *eids: str) -> dict[str, object]:
    held = [{"eid": eid, "gpu_memory": None, "time": "18/11/2026 09:26:06"} for eid in eids]
    return {"index": index, "total_memory": "81559mi", "attachments": held}


DEVICES = [_device(0, "42"), _device(1, "42"), _device(2, "kern-7"), _device(3)]
CALLS = '-- calls.json --\n{"zone": ["CET", 3600], "time": 1795000000}\n'
PROCESSES = """\
-- proc/9954/environ --
PATH=/bin\0GENV_ENVIRONMENT_ID=42\0
-- proc/9955/environ --
GENV_ENVIRONMENT_ID=kern-7\0
-- proc/9956/environ --
PATH=/bin\0
-- proc/9957/environ --
GENV_ENVIRONMENT_ID=42\0
-- root/etc/passwd --
bob:x:1001:1001::/home/bob:/bin/bash
-- root/home/bob/.local/share/jupyter/runtime/kernel-9f2d6a10-0000-4000-8000-000000000001.json --
{}
"""


def state_files(envs: object, devices: object) -> str:
    return (
        f"{CALLS}{PROCESSES}-- {DIRECTORY}/genv.lock --\n"
        f"-- {DIRECTORY}/envs.json --\n{json.dumps({'envs': envs})}\n"
        f"-- {DIRECTORY}/devices.json --\n{json.dumps({'devices': devices})}\n"
    )


def four_gpus() -> list[GpuState]:
    """Four GPUs with the processes of the machine on which genv's own monitor was recorded."""
    on = (
        (GpuProcess(9954, 1024 * MIB),),
        (GpuProcess(9954, 2048 * MIB), GpuProcess(9957, 33 * MIB)),
        (GpuProcess(9955, 512 * MIB),),
        (GpuProcess(9956, 77 * MIB),),
    )
    used = (3, 103, 203, 303)
    return [
        GpuState(index, 5 + 10 * index, 40 + index, used[index] * MIB, TOTAL, on[index]) for index in range(4)
    ]


RECORDED = """\
genv_attached_devices_total 3.0
genv_device_memory_total_bytes{index="0"} 8.5520809984e+10
genv_device_memory_total_bytes{index="1"} 8.5520809984e+10
genv_device_memory_total_bytes{index="2"} 8.5520809984e+10
genv_device_memory_total_bytes{index="3"} 8.5520809984e+10
genv_device_memory_used_bytes{index="0"} 3.145728e+06
genv_device_memory_used_bytes{index="1"} 1.08003328e+08
genv_device_memory_used_bytes{index="2"} 2.12860928e+08
genv_device_memory_used_bytes{index="3"} 3.17718528e+08
genv_device_temperature{index="0"} 40.0
genv_device_temperature{index="1"} 41.0
genv_device_temperature{index="2"} 42.0
genv_device_temperature{index="3"} 43.0
genv_device_utilization{index="0"} 5.0
genv_device_utilization{index="1"} 15.0
genv_device_utilization{index="2"} 25.0
genv_device_utilization{index="3"} 35.0
genv_environments_total 2.0
genv_environment_attached_devices_total{eid="42"} 2.0
genv_environment_attached_devices_total{eid="kern-7"} 1.0
genv_environment_processes_total{eid="42"} 2.0
genv_environment_processes_total{eid="kern-7"} 1.0
genv_is_installed 1.0
genv_processes_total 4.0
genv_process_devices_total{pid="9954",eid="42"} 2.0
genv_process_devices_total{pid="9955",eid="kern-7"} 1.0
genv_process_devices_total{pid="9956"} 1.0
genv_process_devices_total{pid="9957",eid="42"} 1.0
genv_process_used_gpu_memory_bytes{pid="9954",eid="42",device="0"} 1.073741824e+09
genv_process_used_gpu_memory_bytes{pid="9954",eid="42",device="1"} 2.147483648e+09
genv_process_used_gpu_memory_bytes{pid="9955",eid="kern-7",device="2"} 5.36870912e+08
genv_process_used_gpu_memory_bytes{pid="9956",device="3"} 8.0740352e+07
genv_process_used_gpu_memory_bytes{pid="9957",eid="42",device="1"} 3.4603008e+07
genv_users_total 2.0
genv_user_attached_devices_total{username="bob"} 1.0
genv_user_attached_devices_total{username="alice"} 2.0
genv_user_environments_total{username="bob"} 1.0
genv_user_environments_total{username="alice"} 1.0
genv_user_processes_total{username="bob"} 1.0
genv_user_processes_total{username="alice"} 2.0
"""


def _recorded() -> dict[str, float]:
    return {
        series: float(value)
        for series, _, value in (line.rpartition(" ") for line in RECORDED.split("\n") if line)
    }


def test_samples_equal_what_genv_1_4_3_gave_on_the_recorded_machine(
    machine: Machine, samples: Samples
) -> None:
    host = machine(state_files([ALICE, BOB], DEVICES), four_gpus())

    assert samples(SOURCE, host) == _recorded()
    assert not host.notes


def test_attached_gpus_are_bound_to_their_environment(machine: Machine, samples: Samples) -> None:
    host = machine(state_files([ALICE, BOB], DEVICES), four_gpus())
    samples(SOURCE, host)

    assert [(b.resource, b.holder_kind, b.holder, b.user, dict(b.facts)) for b in host.bindings] == [
        ("gpu:0", "environment", "42", "alice", {"name": "train"}),
        ("gpu:1", "environment", "42", "alice", {"name": "train"}),
        ("gpu:2", "environment", "kern-7", "bob", {}),
    ]
    assert host.bindings[0].from_ms == 1794990366000  # 09:26:06 in a zone one hour ahead


def test_dictionaries_of_old_versions_are_read(machine: Machine, samples: Samples) -> None:
    envs = {"42": {key: value for key, value in ALICE.items() if key != "eid"}}
    devices = {
        "0": {"total_memory": "1g", "eids": {"42": {"eid": "42", "gpu_memory": None, "attached": "x"}}},
        "1": {"total_memory": "1g", "eids": {}},
    }
    host = machine(state_files(envs, devices), four_gpus())
    found = samples(SOURCE, host)

    assert found["genv_attached_devices_total"] == 1
    assert found['genv_environment_attached_devices_total{eid="42"}'] == 1


def test_environment_whose_processes_and_kernels_are_gone_ends_with_all_its_series(
    machine: Machine, samples: Samples
) -> None:
    gone = {**ALICE, "eid": "7", "pids": [31]}
    orphan = {**BOB, "eid": "8", "username": "eve", "kernel_ids": ["no-such-kernel", "../../../etc/passwd"]}
    host = machine(state_files([ALICE, gone, orphan], [_device(0, "42", "7"), _device(1, "7")]), four_gpus())
    found = samples(SOURCE, host)

    assert found["genv_environments_total"] == 1
    assert found["genv_attached_devices_total"] == 1
    assert not [series for series in found if 'eid="7"' in series or "eve" in series]


def test_process_of_another_user_costs_a_note_and_counts_outside(machine: Machine, samples: Samples) -> None:
    denied = state_files([ALICE], DEVICES).replace(
        "-- proc/9957/environ --", "-- proc/9957/environ ! EACCES --"
    )
    host = machine(denied, four_gpus())
    found = samples(SOURCE, host)

    assert found['genv_process_devices_total{pid="9957"}'] == 1
    assert found["genv_processes_total"] == 4
    assert "run as root" in host.notes["/proc/9957/environ"]


def test_without_a_driver_environments_are_told_and_processes_are_absent(
    machine: Machine, samples: Samples
) -> None:
    found = samples(SOURCE, machine(state_files([ALICE, BOB], DEVICES)))

    assert found["genv_environments_total"] == 2
    assert "genv_processes_total" not in found
    assert not [series for series in found if "device_" in series or "processes" in series]


def test_gpu_that_does_not_list_its_processes_makes_their_number_unknown(
    machine: Machine, samples: Samples
) -> None:
    gpus = [*four_gpus()[:3], four_gpus()[3]._replace(processes=None)]
    found = samples(SOURCE, machine(state_files([ALICE], DEVICES), gpus))

    assert "genv_processes_total" not in found
    assert found['genv_device_utilization{index="3"}'] == 35


def test_memory_that_is_not_told_is_absent_while_its_process_counts(
    machine: Machine, samples: Samples
) -> None:
    gpu = four_gpus()[0]._replace(processes=(GpuProcess(9954, None),))
    found = samples(SOURCE, machine(state_files([ALICE], DEVICES), [gpu]))

    assert found['genv_process_devices_total{pid="9954",eid="42"}'] == 1
    assert not [series for series in found if "used_gpu_memory" in series]


def test_machine_without_genv_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="genv is not used"):
        samples(SOURCE, machine(CALLS, four_gpus()))


def test_machine_without_genv_gives_its_gpus_to_whoever_asks(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(CALLS, four_gpus(), when_absent="yes"))

    assert found["genv_is_installed"] == 0
    assert len(found) == 1 + 4 * 4


def test_genv_that_has_no_environment_yet_counts_none(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(f"{CALLS}-- root/usr/local/bin/genv --\n", four_gpus()))

    assert found["genv_is_installed"] == 1
    assert found["genv_environments_total"] == 0


def test_state_directory_is_an_option(machine: Machine, samples: Samples) -> None:
    files = state_files([ALICE], DEVICES).replace("root/var/tmp/genv", "root/srv/genv")
    assert samples(SOURCE, machine(files, four_gpus(), directory="/srv/genv"))["genv_environments_total"] == 1


def test_lock_that_is_never_released_costs_a_second_and_a_note(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(state_files([ALICE], DEVICES), four_gpus())
    holder = os.open(tmp_path / DIRECTORY / "genv.lock", os.O_RDWR)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert samples(SOURCE, host)["genv_environments_total"] == 1
        assert "held for over 1 s" in next(iter(host.notes.values()))
    finally:
        os.close(holder)


def test_lock_is_given_back(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    samples(SOURCE, machine(state_files([ALICE], DEVICES), four_gpus()))
    descriptor = os.open(tmp_path / DIRECTORY / "genv.lock", os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_half_written_file_leaves_the_last_state_until_the_next_whole_one(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(state_files([ALICE], DEVICES), four_gpus())
    before = samples(SOURCE, host)
    path = tmp_path / DIRECTORY / "envs.json"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    assert samples(SOURCE, host) == before
    assert "envs.json" in host.notes["state"]

    path.write_text('{"envs": []}')
    assert samples(SOURCE, host)["genv_environments_total"] == 0


def test_file_that_was_never_whole_is_the_reason(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    host = machine(state_files([ALICE], DEVICES), four_gpus())
    (tmp_path / DIRECTORY / "devices.json").write_text("{")
    with pytest.raises(Unavailable, match=r"devices\.json"):
        samples(SOURCE, host)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["42", "eid", 0]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["envs", "devices", "eid", "pids", "kernel_ids", "index", "attachments", "config", "0"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(envs=JSON, devices=JSON)
def test_whatever_the_files_hold_is_read_or_refused(
    machine: Machine, samples: Samples, envs: object, devices: object
) -> None:
    host = machine(state_files(envs, devices), four_gpus())
    good = isinstance(envs, (list, dict)) and isinstance(devices, (list, dict))
    with nullcontext() if good else pytest.raises(Unavailable, match="has no"):
        assert samples(SOURCE, host)["genv_is_installed"] == 1
