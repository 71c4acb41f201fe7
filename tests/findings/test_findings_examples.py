"""Each diagnosis is made where it is true, and not where something looks a little like it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pytest

from vigie.findings.core.registry import all_findings, find_finding
from vigie.query.engine import Engine
from vigie.simulation.memory_storage import MemoryStorage

NOW = 1_700_000_000_000
MINUTE = 60_000
HOURS = 7 * 60  # minutes of every series

Values = list[float]


class Given(NamedTuple):
    """A series: its values a minute apart, up to now."""

    name: str
    values: Values
    labels: dict[str, str]
    ended: int = 0  # minutes ago


def series(name: str, values: float | Values, **labels: str) -> Given:
    """Return a series of node n1; a number stands for itself at all times."""
    told = values if isinstance(values, list) else [float(values)] * HOURS
    return Given(name, told, {"instance": "n1", "job": "node", **labels})


def until(before: float, minutes: int, after: float) -> Values:
    """Return values that changed so many minutes ago."""
    return [before] * (HOURS - minutes) + [after] * minutes


def rising(by: float, minutes: int = HOURS) -> Values:
    """Return a count that has risen by so much a minute for a while."""
    return [max(0.0, (place - HOURS + minutes) * by) for place in range(HOURS)]


def held(gpu: str, job: str = "42", minutes: int = HOURS) -> Given:
    return series("vigie_holder_info", [1.0] * minutes, gpu=gpu, kind="job", holder=job, user="ada")


def gpus(*busy: float | Values, processes: float = 1, sm: float | None = None) -> list[Given]:
    """Return the GPUs of a job, each so busy."""
    found = []
    for gpu, share in enumerate(busy):
        found += [held(str(gpu)), series("vigie_gpu_busy_ratio", share, gpu=str(gpu))]
        found.append(series("vigie_gpu_processes", processes, gpu=str(gpu)))
        if sm is not None:
            found.append(series("DCGM_FI_PROF_SM_ACTIVE", sm, gpu=str(gpu)))
    return found


PORT = {"device": "mlx5_0", "port": "1"}
DISK = {"device": "/dev/sda", "fstype": "ext4", "mountpoint": "/scratch"}


def disk(free: float, read_only: float = 0) -> list[Given]:
    return [
        series("node_filesystem_avail_bytes", free, **DISK),
        series("node_filesystem_size_bytes", 100, **DISK),
        series("node_filesystem_readonly", read_only, **DISK),
    ]


def crowded(idle: float) -> list[Given]:
    """Return a node with two cores that are idle for so many seconds of a minute, and processes that wait."""
    cores = [series("node_cpu_seconds_total", rising(idle), cpu=cpu, mode="idle") for cpu in "01"]
    return [series("node_pressure_cpu_waiting_seconds_total", rising(30)), *cores]


def memory(available: Values) -> list[Given]:
    return [
        series("node_memory_MemAvailable_bytes", available),
        series("node_memory_MemTotal_bytes", 1000),
    ]


def port(state: float, downs: float | Values) -> list[Given]:
    return [
        series("node_infiniband_state_id", state, **PORT),
        series("node_infiniband_link_downed_total", downs, **PORT),
    ]


LEAK = [1000.0 - 2 * max(0, place - HOURS + 450) for place in range(HOURS)]
# For each diagnosis: what it is true of, and what it is not.
EXAMPLES: dict[str, tuple[list[Given], list[Given]]] = {
    "agent-drops": (
        [series("vigie_agent_link_dropped_total", rising(1, 10), server="x")],
        [series("vigie_agent_link_dropped_total", 5, server="x")],
    ),
    "gpu-throttled": (
        [series("vigie_gpu_throttled", 1, gpu="0", reason="hw_power_brake")],
        [series("vigie_gpu_throttled", 1, gpu="0", reason="power_cap")],
    ),
    "clock-skew": (
        [series("vigie_node_clock_offset_seconds", -12)],
        [series("vigie_node_clock_offset_seconds", 9)],
    ),
    "cpu-saturated": (
        [*crowded(2), held("0")],
        crowded(2),
    ),
    "data-starved": (
        [*gpus(0.35, 0.4), series("node_pressure_io_waiting_seconds_total", rising(40))],
        [*gpus(0.35, 0.4), series("node_pressure_io_waiting_seconds_total", rising(2))],
    ),
    "disk-full": (disk(2), disk(20)),
    "ecc-uncorrected": (
        [series("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", until(0, 20, 1), gpu="0")],
        [series("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 3, gpu="0")],
    ),
    "finished-holding": (gpus(until(0.8, 90, 0)), gpus(until(0.8, 30, 0))),
    "gpu-lost": (
        [series("up", 1), series("vigie_gpu_info", 1, gpu="0", uuid="a")._replace(ended=20)],
        [series("up", 1), series("vigie_gpu_info", 1, gpu="0", uuid="a")],
    ),
    "ib-errors": (
        [
            series("node_infiniband_symbol_error_total", rising(60), **PORT),
            series("node_infiniband_local_link_integrity_errors_total", 0, **PORT),
        ],
        [
            series("node_infiniband_symbol_error_total", 500, **PORT),
            series("node_infiniband_local_link_integrity_errors_total", 0, **PORT),
        ],
    ),
    "ib-link-down": (port(1, 2), [*port(1, 0)]),
    "ib-link-flap": (
        [series("node_infiniband_link_downed_total", [*until(0, 6, 1)[:-2], 2.0, 3.0], **PORT)],
        [series("node_infiniband_link_downed_total", until(0, 6, 1), **PORT)],
    ),
    "idle-holder": (gpus(0, 0), gpus(0, 0, processes=0)),
    "memory-errors": (
        [series("node_edac_uncorrectable_errors_total", until(0, 20, 1), controller="0")],
        [series("node_edac_uncorrectable_errors_total", 0, controller="0")],
    ),
    "memory-leak": (memory(LEAK), memory([400.0] * HOURS)),
    "never-started": (
        [held("0"), series("vigie_gpu_processes", 0, gpu="0"), series("vigie_gpu_busy_ratio", 0, gpu="0")],
        [
            held("0", minutes=10),
            series("vigie_gpu_processes", 0, gpu="0"),
            series("vigie_gpu_busy_ratio", 0, gpu="0"),
        ],
    ),
    "node-drained": (
        [series("slurm_node_cpu_total", 64, node="n7", status="drained")],
        [series("slurm_node_cpu_total", 64, node="n7", status="idle")],
    ),
    "node-lost": ([series("up", until(1, 5, 0))], [series("up", until(1, 1, 0))]),
    "nvlink-down": (
        [series("vigie_gpu_nvlink_up", until(1, 10, 0), gpu="0", link="3")],
        [series("vigie_gpu_nvlink_up", 0, gpu="0", link="3")],
    ),
    "oom-kill": (
        [series("node_vmstat_oom_kill", until(2, 5, 3))],
        [series("node_vmstat_oom_kill", 2)],
    ),
    "pcie-downgrade": (
        [series("vigie_gpu_pcie_width", 4, gpu="0"), series("vigie_gpu_pcie_width_max", 16, gpu="0")],
        [series("vigie_gpu_pcie_width", 16, gpu="0"), series("vigie_gpu_pcie_width_max", 16, gpu="0")],
    ),
    "rank-hung": (gpus(1.0, 1.0, 0.0, 1.0), gpus(0.0, 0.0, 0.0, 0.0)),
    "row-remap-failed": (
        [series("DCGM_FI_DEV_ROW_REMAP_FAILURE", 1, gpu="0")],
        [series("DCGM_FI_DEV_ROW_REMAP_FAILURE", 0, gpu="0")],
    ),
    "row-remap-pending": (
        [series("DCGM_FI_DEV_ROW_REMAP_PENDING", 1, gpu="0")],
        [series("DCGM_FI_DEV_ROW_REMAP_PENDING", 0, gpu="0")],
    ),
    "source-failing": (
        [series("vigie_agent_source_info", 1, source="zfs", state="error", reason="why")],
        [series("vigie_agent_source_info", 1, source="zfs", state="unavailable", reason="none here")],
    ),
    "spinning": (gpus(1.0, 1.0, sm=0.05), gpus(1.0, 1.0, sm=0.6)),
}

GONE = [series("up", 1), series("vigie_gpu_info", 1, gpu="0", uuid="a")._replace(ended=20)]
WHY = "released by root until 14:35:10"
# What a healthy cluster shows every day, and must not be taken for trouble.
HEALTHY: dict[str, tuple[str, list[Given]]] = {
    "job_begins_and_takes_its_memory": ("memory-leak", memory(until(900, 12, 300))),
    "job_has_taken_its_memory": ("memory-leak", memory(until(900, 25, 300))),
    "process_waits_for_its_own_core_while_others_are_idle": ("cpu-saturated", [*crowded(30), held("0")]),
    "driver_was_let_go_on_purpose": (
        "gpu-lost",
        [*GONE, series("vigie_agent_source_info", 1, source="nvidia", state="unavailable", reason=WHY)],
    ),
    "job_computes_on_all_its_gpus_but_one": ("rank-hung", gpus(1.0, 1.0, 0.0, 1.0, sm=0.6)),
}


def made(name: str, given: Iterable[Given]) -> int:
    """Return how many sightings a diagnosis has of these series."""
    storage = MemoryStorage()
    for one in given:
        last = NOW - one.ended * MINUTE
        times = [last - MINUTE * (len(one.values) - 1 - place) for place in range(len(one.values))]
        storage.add({"__name__": one.name, **one.labels}, times, one.values)
    return len(Engine(storage).instant(find_finding(name).query, NOW).series)


def test_every_question_has_examples() -> None:
    assert set(EXAMPLES) == {one.name for one in all_findings() if one.query}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_diagnosis_is_made_where_it_is_true(name: str) -> None:
    assert made(name, EXAMPLES[name][0]) > 0


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_diagnosis_is_not_made_where_it_is_not(name: str) -> None:
    assert made(name, EXAMPLES[name][1]) == 0


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_nothing_is_found_where_there_are_no_samples(name: str) -> None:
    assert made(name, []) == 0


@pytest.mark.parametrize("what", sorted(HEALTHY))
def test_healthy_cluster_is_left_alone_when(what: str) -> None:
    name, given = HEALTHY[what]
    assert made(name, given) == 0


def again(given: Iterable[Given]) -> list[Given]:
    """Return series with those that exporters beside the agent would tell once more."""
    jobs = {"node": "node-exporter", "DCGM": "dcgm-exporter"}
    told = [(one, jobs.get(one.name.partition("_")[0])) for one in given]
    more = [one._replace(labels={**one.labels, "job": job}) for one, job in told if job]
    return [*(one for one, _ in told), *more]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_exporters_beside_the_agent_change_nothing(name: str) -> None:
    true, false = EXAMPLES[name]
    assert made(name, again(true)) == made(name, true)
    assert made(name, again(false)) == 0


def test_hang_is_found_where_the_others_only_spin() -> None:
    assert made("rank-hung", gpus(1.0, 1.0, 0.0, 1.0, sm=0.06)) == 1


def test_link_that_went_down_hours_ago_is_still_down() -> None:
    assert made("nvlink-down", [series("vigie_gpu_nvlink_up", [1.0] * 1500 + [0.0] * 300, gpu="0", link="3")])


def test_jobs_that_share_a_gpu_are_told_apart() -> None:
    both = [*gpus(0.0), held("0", "43")]
    assert made("idle-holder", both) == 2
