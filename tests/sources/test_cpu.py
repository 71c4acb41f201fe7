from __future__ import annotations

from pathlib import Path

import pytest

from tests.machines import unpacked
from tests.sources.conftest import Machine, Samples
from vigie.sources.core.host import Host
from vigie.sources.core.replay import replay
from vigie.sources.cpu import SOURCE


def _stat(*rows: str) -> str:
    return "\n".join(["-- proc/stat --", "cpu  0 0 0 0 0 0 0 0 0 0", *rows, "intr 1 2 3", "ctxt 5", ""])


def _becomes(host: Host, *rows: str) -> None:
    text = _stat(*rows).partition("\n")[2]
    Path(host.proc.top, "stat").write_text(text, encoding="utf-8")


def test_ticks_become_seconds_by_mode(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(_stat("cpu0 100 200 300 400 500 600 700 800 150 250")))
    assert found['node_cpu_seconds_total{cpu="0",mode="user"}'] == 1
    assert found['node_cpu_seconds_total{cpu="0",mode="steal"}'] == 8
    assert found['node_cpu_guest_seconds_total{cpu="0",mode="user"}'] == 1.5
    assert found['node_cpu_guest_seconds_total{cpu="0",mode="nice"}'] == 2.5
    assert len(found) == 10


def test_ticks_a_second_are_the_machines_own(machine: Machine, samples: Samples) -> None:
    host = machine(_stat("cpu0 100 0 0 0") + '-- calls.json --\n{"ticks": 1000}\n')
    assert samples(SOURCE, host)['node_cpu_seconds_total{cpu="0",mode="user"}'] == 0.1


def test_kernel_without_guest_columns_has_no_guest_series(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(_stat("cpu0 100 200 300 400 500 600 700")))
    assert not any("guest" in series or "steal" in series for series in found)
    assert len(found) == 7


def test_small_step_back_is_held(machine: Machine, samples: Samples) -> None:
    host = machine(_stat("cpu0 100 0 0 5000 700 0 0 0 0 0"))
    samples(SOURCE, host)
    _becomes(host, "cpu0 110 0 0 4990 690 0 0 0 0 0")
    found = samples(SOURCE, host)
    assert found['node_cpu_seconds_total{cpu="0",mode="user"}'] == 1.1
    assert found['node_cpu_seconds_total{cpu="0",mode="idle"}'] == 50
    assert found['node_cpu_seconds_total{cpu="0",mode="iowait"}'] == 7


def test_value_is_held_until_the_kernel_has_passed_it(machine: Machine, samples: Samples) -> None:
    host = machine(_stat("cpu0 0 0 0 5000 700"))
    seen = []
    for iowait in (700, 690, 695, 701):
        _becomes(host, f"cpu0 0 0 0 5000 {iowait}")
        seen.append(samples(SOURCE, host)['node_cpu_seconds_total{cpu="0",mode="iowait"}'])
    assert seen == [7, 7, 7, 7.01]


def test_core_that_was_plugged_in_again_starts_anew(machine: Machine, samples: Samples) -> None:
    host = machine(_stat("cpu0 9000 0 0 5000 700", "cpu1 9000 0 0 5000 700"))
    samples(SOURCE, host)
    _becomes(host, "cpu0 9000 0 0 5000 700", "cpu1 10 0 0 20 0")
    found = samples(SOURCE, host)
    assert found['node_cpu_seconds_total{cpu="1",mode="user"}'] == 0.1
    assert found['node_cpu_seconds_total{cpu="1",mode="idle"}'] == 0.2
    assert found['node_cpu_seconds_total{cpu="0",mode="user"}'] == 90


def test_core_that_is_gone_is_forgotten(machine: Machine, samples: Samples) -> None:
    host = machine(_stat("cpu0 100 0 0 5000", "cpu1 100 0 0 5000"))
    samples(SOURCE, host)
    _becomes(host, "cpu0 100 0 0 5000")
    assert not any('cpu="1"' in series for series in samples(SOURCE, host))
    assert list(host.cache["cores"]) == ["0"]


@pytest.mark.parametrize(
    "row", ["cpu1 N/A 2 3 4", "cpu1", "cpu1 1 2 3", "cpu1 " + "9" * 400 + " 2 3 4", "cpu1 \udcff 2 3 4"]
)
def test_garbled_row_costs_only_itself(machine: Machine, samples: Samples, row: str) -> None:
    host = machine(_stat("cpu0 100 0 0 5000", row, "cpu2 100 0 0 5000"))
    for _ in range(2):
        found = samples(SOURCE, host)
        assert {series.split('"')[1] for series in found} == {"0", "2"}
        assert list(host.notes) == ["/proc/stat cpu1"]


def test_row_that_grows_a_column_is_taken_as_it_is(machine: Machine, samples: Samples) -> None:
    host = machine(_stat("cpu0 100 0 0 5000"))
    samples(SOURCE, host)
    _becomes(host, "cpu0 90 0 0 5000 5")
    assert samples(SOURCE, host)['node_cpu_seconds_total{cpu="0",mode="user"}'] == 0.9


def test_empty_stat_gives_nothing(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine("-- proc/stat --\n")) == {}


def _core(cpu: int, package: int, core: int, throttles: int) -> str:
    path = f"sys/devices/system/cpu/cpu{cpu}"
    return f"""
-- {path}/topology/physical_package_id --
{package}
-- {path}/topology/core_id --
{core}
-- {path}/thermal_throttle/core_throttle_count --
{throttles}
-- {path}/thermal_throttle/package_throttle_count --
{100 + package}"""


def test_hyper_threads_share_one_throttle_count(machine: Machine, samples: Samples) -> None:
    rows = [f"cpu{cpu} 1 2 3 4" for cpu in range(4)]
    archive = _stat(*rows) + _core(0, 0, 0, 5) + _core(1, 0, 0, 5) + _core(2, 0, 1, 6) + _core(3, 1, 0, 7)
    found = samples(SOURCE, machine(archive))
    throttles = {series: value for series, value in found.items() if "throttles" in series}
    assert throttles == {
        'node_cpu_core_throttles_total{package="0",core="0"}': 5,
        'node_cpu_core_throttles_total{package="0",core="1"}': 6,
        'node_cpu_core_throttles_total{package="1",core="0"}': 7,
        'node_cpu_package_throttles_total{package="0"}': 100,
        'node_cpu_package_throttles_total{package="1"}': 101,
    }


def test_throttle_counts_are_read_anew(machine: Machine, samples: Samples) -> None:
    host = machine(_stat("cpu0 1 2 3 4") + _core(0, 0, 0, 5))
    samples(SOURCE, host)
    path = "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
    Path(host.sys.top, path).write_text("9\n", encoding="utf-8")
    assert samples(SOURCE, host)['node_cpu_core_throttles_total{package="0",core="0"}'] == 9


def test_core_that_is_switched_off_is_told(machine: Machine, samples: Samples) -> None:
    archive = """-- proc/stat --
-- sys/devices/system/cpu/present --
0-3
-- sys/devices/system/cpu/online --
0-1,3
-- sys/devices/system/cpu/isolated --
3
"""
    host = machine(archive)
    found = samples(SOURCE, host)
    assert [found[f'node_cpu_online{{cpu="{cpu}"}}'] for cpu in range(4)] == [1, 1, 0, 1]
    assert found['node_cpu_isolated{cpu="3"}'] == 1
    Path(host.sys.top, "devices/system/cpu/online").write_text("0-3\n", encoding="utf-8")
    assert samples(SOURCE, host)['node_cpu_online{cpu="2"}'] == 1


def test_unknown_online_list_does_not_call_cores_off(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/stat --\n-- sys/devices/system/cpu/present --\n0-3\n")
    assert samples(SOURCE, host) == {}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return where the files of a machine with 128 cores are."""
    return str(unpacked("epyc-128", tmp_path_factory.mktemp("large")))


def test_128_cores_are_all_there(large: str, samples: Samples) -> None:
    host = replay(large)
    found = samples(SOURCE, host)
    assert sum(series.startswith("node_cpu_seconds_total") for series in found) == 128 * 8
    assert sum(series.startswith("node_cpu_guest_seconds_total") for series in found) == 128 * 2
    assert sum(series.startswith("node_cpu_core_throttles_total") for series in found) == 128
    assert sum(series.startswith("node_cpu_package_throttles_total") for series in found) == 2
    assert sum(series.startswith("node_cpu_online") for series in found) == 128
    assert host.notes == {}


def test_label_values_are_the_same_objects_at_every_read(large: str) -> None:
    host = replay(large)
    first, second = list(SOURCE.read(host)), list(SOURCE.read(host))
    assert all(a[1] is b[1] for a, b in zip(first, second, strict=True))
