"""AMD GPUs by the package amdsmi: a stand-in with its functions, answers and errors, as documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.machines import HERE
from tests.sources.conftest import Samples
from vigie.sources import amdgpu, amdsmi
from vigie.sources.core.host import Host
from vigie.sources.core.replay import ReplayedCalls, replay, unpack
from vigie.sources.core.source import Unavailable

MI300X = (HERE / "mi300x/gpus.txt").read_text()
RADEON = (HERE / "radeon/gpus.txt").read_text()  # one of its cards sleeps
NOT_SUPPORTED = "An error occured with code: 2(AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported)"
PROCESS = {
    "name": "N/A",
    "pid": 4711,
    "mem": 9 << 30,
    "engine_usage": {"gfx": 5, "enc": 0},
    "memory_usage": {"gtt_mem": 1, "cpu_mem": 2, "vram_mem": 8 << 30},
}
BYSTANDER = {**PROCESS, "pid": 12, "memory_usage": {"gtt_mem": 0, "cpu_mem": 0, "vram_mem": 0}}


class AmdSmiError(Exception):
    """What the package raises."""


class Package:
    """Answers as the package of ROCm 6.4 does on an MI300X, unless it is told otherwise."""

    def __init__(self, **answers: Any) -> None:
        self.open = 0
        self.answers: dict[str, Any] = {
            "amdsmi_get_gpu_process_list": [PROCESS, BYSTANDER],
            "amdsmi_get_energy_count": {
                "energy_accumulator": 2_000_000,
                "counter_resolution": 15.3,
                "timestamp": 1,
            },
            "amdsmi_get_gpu_metrics_info": {
                "xgmi_read_data_acc": [10, 0, "N/A"],
                "xgmi_write_data_acc": [20, 0, "N/A"],
                "ppt_residency_acc": 100,
                "socket_thm_residency_acc": 7,
                "hbm_thm_residency_acc": "N/A",
                "average_socket_power": "N/A",
            },
            "amdsmi_get_gpu_bad_page_info": [
                {"value": 0, "page_address": 4096, "page_size": 4096, "status": 0},
                {"value": 1, "page_address": 8192, "page_size": 4096, "status": 1},
                {"value": 2, "page_address": 9216, "page_size": 4096, "status": 0},
            ],
            **answers,
        }

    def amdsmi_init(self) -> None:
        self.open += 1

    def amdsmi_shut_down(self) -> None:
        self.open -= 1

    def amdsmi_get_processor_handles(self) -> list[str]:
        return ["first"]

    def amdsmi_get_gpu_device_bdf(self, handle: str) -> str:
        assert handle == "first"
        return "0000:05:00.0"

    def __getattr__(self, name: str) -> Any:
        if name not in self.answers:
            raise AttributeError(name)
        answer = self.answers[name]

        def function(handle: str) -> Any:
            assert handle == "first"
            if isinstance(answer, Exception):
                raise answer
            return answer

        return function


class Calls(ReplayedCalls):
    """Those of a recorded machine where a package is installed."""

    def __init__(self, directory: Path, package: Package) -> None:
        super().__init__(str(directory))
        self._package = package

    def amdsmi(self) -> Package:
        return self._package


def _host(directory: Path, package: Package, archive: str = MI300X) -> Host:
    unpack(archive, str(directory))
    host = replay(str(directory))
    host.calls = Calls(directory, package)
    return host


def _short(found: dict[str, float]) -> dict[str, float]:
    labels = 'gpu="0",uuid="GPU-bdc1a4b8d6c2e9f0",vendor="amd",model="AMD Instinct MI300X OAM"'
    return {text.replace(labels, "").replace("{,", "{").replace("{}", ""): v for text, v in found.items()}


def test_package_tells_what_sysfs_does_not_in_base_units(tmp_path: Path, samples: Samples) -> None:
    package = Package()
    host = _host(tmp_path, package)
    first = _short(samples(amdsmi.SOURCE, host))
    assert first == {
        "vigie_gpu_processes": 1,
        'vigie_gpu_process_memory_bytes{pid="4711"}': 8 << 30,
        "vigie_amdgpu_energy_joules_total": pytest.approx(30.6),
        'vigie_amdgpu_xgmi_read_bytes_total{link="0"}': 10240,
        'vigie_amdgpu_xgmi_read_bytes_total{link="1"}': 0,
        'vigie_amdgpu_xgmi_write_bytes_total{link="0"}': 20480,
        'vigie_amdgpu_xgmi_write_bytes_total{link="1"}': 0,
        'vigie_amdgpu_bad_pages{state="reserved"}': 2,
        'vigie_amdgpu_bad_pages{state="pending"}': 1,
        'vigie_amdgpu_bad_pages{state="unreservable"}': 0,
    }
    package.answers["amdsmi_get_gpu_metrics_info"]["socket_thm_residency_acc"] = 9
    second = _short(samples(amdsmi.SOURCE, host))
    assert second['vigie_gpu_throttled{reason="socket_thermal"}'] == 1
    assert second['vigie_gpu_throttled{reason="power_cap"}'] == 0
    assert 'vigie_gpu_throttled{reason="memory_thermal"}' not in second
    host.close()
    assert package.open == 0


def test_no_series_is_given_by_sysfs_and_by_the_package(tmp_path: Path, samples: Samples) -> None:
    host, other = _host(tmp_path, Package()), _host(tmp_path / "other", Package())
    samples(amdsmi.SOURCE, host)
    given = samples(amdsmi.SOURCE, host)
    assert not given.keys() & samples(amdgpu.SOURCE, other).keys()


def test_function_that_is_not_supported_or_not_there_costs_only_itself(
    tmp_path: Path, samples: Samples
) -> None:
    package = Package(amdsmi_get_energy_count=AmdSmiError(NOT_SUPPORTED))
    del package.answers["amdsmi_get_gpu_bad_page_info"]
    host = _host(tmp_path, package)
    found = _short(samples(amdsmi.SOURCE, host))
    assert "vigie_gpu_processes" in found
    assert "vigie_amdgpu_energy_joules_total" not in found
    assert host.notes["GPU 0, amdsmi_get_energy_count"] == NOT_SUPPORTED
    assert "amdsmi_get_gpu_bad_page_info" in host.notes["GPU 0, amdsmi_get_gpu_bad_page_info"]


def test_answers_of_older_versions_are_read_or_explained(tmp_path: Path, samples: Samples) -> None:
    package = Package(
        amdsmi_get_gpu_process_list=[object()],
        amdsmi_get_energy_count={"power": 1_000_000, "counter_resolution": 15.3, "timestamp": 1},
        amdsmi_get_gpu_bad_page_info="No bad pages found.",
    )
    host = _host(tmp_path, package)
    found = _short(samples(amdsmi.SOURCE, host))
    assert found["vigie_amdgpu_energy_joules_total"] == pytest.approx(15.3)
    assert found['vigie_amdgpu_bad_pages{state="reserved"}'] == 0
    assert "vigie_gpu_processes" not in found
    assert "ROCm 6.1" in host.notes["GPU 0, amdsmi_get_gpu_process_list"]


def test_without_the_package_it_is_said_what_to_type(tmp_path: Path) -> None:
    host = _host(tmp_path, Package())

    class Without(ReplayedCalls):
        def amdsmi(self) -> Any:
            raise ModuleNotFoundError("No module named 'amdsmi'", name="amdsmi")

    host.calls = Without(str(tmp_path))
    with pytest.raises(Unavailable, match=r"not installed.*pip install amdsmi"):
        list(amdsmi.read(host))


@pytest.mark.parametrize("error", [OSError("libamd_smi.so: cannot open"), SystemExit(1), KeyError("ROCM")])
def test_package_that_cannot_be_imported_is_no_error_of_ours(tmp_path: Path, error: BaseException) -> None:
    host = _host(tmp_path, Package())

    class Broken(ReplayedCalls):
        def amdsmi(self) -> Any:
            raise error

    host.calls = Broken(str(tmp_path))
    with pytest.raises(Unavailable, match="cannot import"):
        list(amdsmi.read(host))


def test_sleeping_card_is_not_woken_by_the_library(tmp_path: Path) -> None:
    package = Package()
    with pytest.raises(Unavailable, match="suspended"):
        list(amdsmi.read(_host(tmp_path, package, RADEON)))
    assert package.open == 0


def test_library_is_opened_anew_when_nothing_is_answered_any_more(tmp_path: Path, samples: Samples) -> None:
    package = Package()
    host = _host(tmp_path, package)
    assert samples(amdsmi.SOURCE, host)
    good, package.answers = package.answers, dict.fromkeys(package.answers, AmdSmiError("not initialised"))
    assert not samples(amdsmi.SOURCE, host)
    assert package.open == 0
    package.answers = good
    assert samples(amdsmi.SOURCE, host)
    assert package.open == 1


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["pid", "memory_usage", "vram_mem", "status", "xgmi_read_data_acc", "power"]),
            inner,
        )
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ANYTHING, min_size=4, max_size=4))
def test_any_answer_is_numbers_or_reasons(tmp_path: Path, answers: list[Any]) -> None:
    host = _host(tmp_path, package := Package())
    package.answers = dict(zip(package.answers, answers, strict=True))
    for _, _, value in amdsmi.read(host):
        assert value is None or 0 <= value < 2**80
