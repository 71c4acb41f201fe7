"""The simulated cluster: one model, a scenario with a truth, the same for the same seed and moment."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from vigie.model import ABSENT
from vigie.model.nan import float_to_bits
from vigie.simulation.cluster.bindings import build_bindings
from vigie.simulation.cluster.events import build_events
from vigie.simulation.cluster.incidents import INCIDENTS
from vigie.simulation.cluster.machines import MACHINES, build_machines
from vigie.simulation.cluster.nodes import SimulatedNode
from vigie.simulation.cluster.scenario import MINUTE, Scenario
from vigie.simulation.cluster.workloads import ACCOUNTS, JOBS

NOW = 1_794_800_000_000
STEP = 60_000
HOURS = 6
TIMES = np.arange(NOW - HOURS * 60 * MINUTE, NOW, STEP, dtype=np.int64)
Numbers = NDArray[np.float64]


class Seen:
    """All series of one node, found by name and labels."""

    def __init__(self, name: str, seed: int = 1) -> None:
        scenario = Scenario(build_machines(16), NOW, seed)
        node = SimulatedNode(scenario, scenario.machines[name], head=name == "cpu01")
        self._series: dict[str, list[tuple[dict[str, str], Numbers, NDArray[np.int64]]]] = {}
        for stretch in node.build_periods(TIMES):
            for place, (metric, labels) in enumerate(stretch.table.series):
                found = dict(zip(metric.labels, labels, strict=True))
                row = (found, stretch.values[:, place], stretch.times)
                self._series.setdefault(metric.name, []).append(row)

    def __call__(self, name: str, **wanted: str) -> Numbers:
        """Return the values of the only series of this name with these labels."""
        [values] = [
            values
            for labels, values, _ in self._series[name]
            if all(labels[label] == value for label, value in wanted.items())
        ]
        return values

    def times(self) -> NDArray[np.int64]:
        return self._series["node_load1"][0][2]


@cache
def seen(name: str) -> Seen:
    return Seen(name)


def at(minutes: float) -> int:
    """Return the row of a moment."""
    return int(np.searchsorted(TIMES, NOW + minutes * MINUTE))


def test_same_seed_and_moment_give_the_same_numbers() -> None:
    for name in ("node_memory_MemFree_bytes", "node_context_switches_total"):
        assert np.array_equal(Seen("gpu07")(name), seen("gpu07")(name))


def test_another_seed_gives_other_numbers_but_the_same_story() -> None:
    other = Seen("gpu03", seed=2)
    assert not np.array_equal(
        other("vigie_gpu_power_watts", gpu="5"), seen("gpu03")("vigie_gpu_power_watts", gpu="5")
    )
    assert other("vigie_gpu_throttled", gpu="5", reason="hw_power_brake")[-1] == 1


def test_time_that_passes_in_pieces_gives_what_it_gives_at_once() -> None:
    scenario = Scenario(build_machines(16), NOW, 1)
    whole, pieces = (SimulatedNode(scenario, scenario.machines["gpu08"], head=False) for _ in range(2))
    times = TIMES[-60:]
    at_once = {one.table.source: one.values for one in whole.build_periods(times)}
    parts = [pieces.build_periods(some) for some in (times[:7], times[7:8], times[8:])]
    for place, source in enumerate(at_once):
        joined = np.concatenate([part[place].values for part in parts])
        np.testing.assert_allclose(joined, at_once[source], rtol=1e-12)


def test_energy_is_the_sum_of_power() -> None:
    energy = seen("gpu01")("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu="0") / 1000
    power = seen("gpu01")("DCGM_FI_DEV_POWER_USAGE", gpu="0")
    assert energy[-1] - energy[0] == pytest.approx(power[1:].sum() * STEP / 1000, rel=1e-3)


def test_power_follows_activity_and_heat_follows_power() -> None:
    gpu = seen("gpu05")
    busy, power, heat = (
        gpu(name, gpu="0")
        for name in ("DCGM_FI_PROF_SM_ACTIVE", "vigie_gpu_power_watts", "vigie_gpu_temperature_celsius")
    )
    assert np.corrcoef(busy, power)[0, 1] > 0.95
    assert np.corrcoef(power[:-1], heat[1:])[0, 1] > 0.8


def test_counters_never_fall() -> None:
    counted = [
        seen("gpu02")("node_infiniband_port_data_received_bytes_total", device="mlx5_3"),
        seen("gpu02")("node_cpu_seconds_total", cpu="7", mode="user"),
        seen("cpu01")("node_vmstat_oom_kill"),
    ]
    assert all((np.diff(values) >= 0).all() for values in counted)


def test_slowest_rank_sets_the_step_of_its_whole_job() -> None:
    before, after = at(-55), at(-40)
    for node, gpu in (("gpu01", "0"), ("gpu04", "7")):
        active = seen(node)("DCGM_FI_PROF_SM_ACTIVE", gpu=gpu)
        assert active[after] < 0.65 * active[before]
    capped = seen("gpu03")
    assert capped("DCGM_FI_DEV_SM_CLOCK", gpu="5")[after] == 1095
    assert capped("DCGM_FI_PROF_SM_ACTIVE", gpu="5")[after] > capped("DCGM_FI_PROF_SM_ACTIVE", gpu="4")[after]


def test_gpu_that_fell_off_the_bus_is_absent_and_never_zero() -> None:
    power = seen("gpu08")("vigie_gpu_power_watts", gpu="2")
    assert power[at(-40)] > 0
    assert float_to_bits(float(power[-1])) == float_to_bits(ABSENT)


def test_hang_looks_busy_at_low_power() -> None:
    gpu = seen("gpu05")
    assert gpu("DCGM_FI_DEV_GPU_UTIL", gpu="0")[-1] == 100
    assert gpu("DCGM_FI_DEV_POWER_USAGE", gpu="0")[-1] < 300
    assert gpu("DCGM_FI_DEV_GPU_UTIL", gpu="3")[-1] == 0


def test_starved_job_shows_in_gpus_cores_and_pressure() -> None:
    node = seen("gpu07")
    assert node("DCGM_FI_DEV_GPU_UTIL", gpu="0")[at(-30)] < 50
    waited = np.diff(node("node_pressure_io_waiting_seconds_total"))
    assert waited[at(-30)] > 10 * waited[at(-160)]


def test_leak_ends_with_a_kill() -> None:
    free = seen("cpu01")("node_memory_MemAvailable_bytes")
    assert free[at(-10)] < 0.15 * free[at(-155)]
    assert free[-1] > free[at(-10)]
    assert seen("cpu01")("node_vmstat_oom_kill")[-1] == 1


def test_lost_nodes_say_nothing_while_they_are_lost() -> None:
    assert seen("gpu14").times()[-1] < NOW - 55 * MINUTE
    missing = np.setdiff1d(TIMES, seen("gpu06").times())
    assert missing[0] >= NOW - 270 * MINUTE
    assert missing[-1] < NOW - 258 * MINUTE


def test_flapping_port_goes_down_three_times() -> None:
    downs = seen("gpu02")("node_infiniband_link_downed_total", device="mlx5_3")
    assert (downs[at(-141)], downs[at(-130)]) == (0, 3)


def test_downgraded_link_and_crowded_cores_are_seen() -> None:
    node = seen("gpu09")
    assert node("vigie_gpu_pcie_width", gpu="6")[-1] == 4
    asked = np.diff(node("nv_inference_request_success", model="chat-13b"))
    assert asked[at(-85)] < 0.75 * asked[at(-60)]


def test_every_incident_that_a_source_would_notice_has_its_event() -> None:
    scenario = Scenario(build_machines(16), NOW, 1)
    told = {(node, event.kind) for node, event in build_events(scenario)}
    silent = {
        "starved",
        "hang",
        "neighbour",
        "lost",
    }  # only metrics tell of these, and of the last the server
    for incident in INCIDENTS:
        assert incident.kind in silent or any(node == incident.node for node, _ in told), incident.id


def test_every_gpu_of_a_running_job_is_held() -> None:
    scenario = Scenario(build_machines(16), NOW, 1)
    held = {
        (node, one.gpu, one.holder) for node, one in build_bindings(scenario, "cpu01") if one.to_ms is None
    }
    for job in scenario.jobs:
        for place in job.places if job.end is None else ():
            assert all((place.node, str(gpu), job.id) in held for gpu in place.gpus)


def test_no_gpu_is_held_by_two_jobs_at_once() -> None:
    spans: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for job in JOBS:
        for place in job.places:
            for gpu in place.gpus:
                spans.setdefault((place.node, gpu), []).append(
                    (job.begin, job.end if job.end is not None else 1e9)
                )
    for where, held in spans.items():
        held.sort()
        assert all(one[1] <= other[0] for one, other in pairwise(held)), where


def test_cast_and_incidents_are_as_rich_as_promised() -> None:
    assert len([job for job in JOBS if job.end is None]) >= 12
    assert len(ACCOUNTS) >= 5
    assert len(INCIDENTS) >= 10
    assert sum(incident.begin >= -60 or (incident.end or -99) >= -60 for incident in INCIDENTS) >= 4


@pytest.mark.parametrize(
    ("nodes", "gpus"), [(1, 8), (3, 2), (16, 4), pytest.param(40, 8, marks=pytest.mark.process)]
)
def test_fleet_of_any_size_can_be_simulated(nodes: int, gpus: int) -> None:
    scenario = Scenario(build_machines(nodes, gpus), NOW, 1)
    assert len(scenario.machines) == nodes
    for number, machine in enumerate(scenario.machines.values()):
        assert (
            SimulatedNode(scenario, machine, head=number == 0).build_frame(NOW) is not None
            or machine.name == "gpu14"
        )


def test_story_has_a_mixed_fleet() -> None:
    vendors = {machine.gpu.vendor for machine in MACHINES if machine.gpu}
    assert vendors == {"nvidia", "amd"}
    assert any(machine.gpu is None for machine in MACHINES)
    assert any(machine.sliced for machine in MACHINES)
    assert any(
        machine.gpu and machine.gpu.vendor == "nvidia" and not machine.gpu.profiled for machine in MACHINES
    )
