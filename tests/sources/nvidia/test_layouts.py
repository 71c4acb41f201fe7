"""The structures of the binding and of the simulated library are those of NVIDIA's header."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vigie.simulation.nvml
from vigie.sources._number_lists import format_number_list, parse_number_list
from vigie.sources._nvml import abi
from vigie.sources._nvml.fields import PLACE, read_value

TABLE = (Path(vigie.simulation.nvml.__file__).parent / "layouts.txt").read_text().splitlines()
LAYOUTS = {words[0]: words[1:] for words in map(str.split, TABLE) if words[0] not in ("#", "version")}
VERSIONS = {words[1]: int(words[2]) for words in map(str.split, TABLE) if words[0] == "version"}
# Which member of a value holds a number of this type; unsigned long is 64 bits wide on Linux.
MEMBERS = ("dVal", "uiVal", "ullVal", "ullVal", "sllVal", "siVal", "usVal")
OURS: dict[str, type[ctypes.Structure | ctypes.Union]] = {
    "nvmlMemory_t": abi.NvmlMemory,
    "nvmlMemory_v2_t": abi.Memory2,
    "nvmlUtilization_t": abi.Utilization,
    "nvmlPciInfo_t": abi.PciInfo,
    "nvmlValue_t": abi.NvmlValue,
    "nvmlFieldValue_t": abi.NvmlFieldValue,
    "nvmlProcessInfo_v1_t": abi.Process1,
    "nvmlProcessInfo_v2_t": abi.Process2,
    "nvmlProcessUtilizationSample_t": abi.ProcessUse,
    "nvmlEventData_t": abi.EventData,
    "nvmlGpuFabricInfo_v2_t": abi.FabricInfo2,
    "nvmlGpmSupport_t": abi.GpmSupport,
    "nvmlGpmMetric_t": abi.GpmMetric,
    "nvmlGpmMetricsGet_t": abi.GpmMetricsGet,
    "nvmlGridLicensableFeatures_t": abi.LicensableFeatures,
}
NVIDIAS = {
    "nvmlMemory_t": "c_nvmlMemory_t",
    "nvmlMemory_v2_t": "c_nvmlMemory_v2_t",
    "nvmlUtilization_t": "c_nvmlUtilization_t",
    "nvmlFieldValue_t": "c_nvmlFieldValue_t",
    "nvmlProcessInfo_v2_t": "c_nvmlProcessInfo_v2_t",
    "nvmlProcessUtilizationSample_t": "c_nvmlProcessUtilizationSample_t",
    "nvmlEventData_t": "c_nvmlEventData_t",
    "nvmlGpuFabricInfo_v2_t": "c_nvmlGpuFabricInfo_v2_t",
    "nvmlGpmMetric_t": "c_nvmlGpmMetric_t",
    "nvmlGpmMetricsGet_t": "c_nvmlGpmMetricsGet_t",
    "nvmlGridLicensableFeatures_t": "c_nvmlGridLicensableFeatures_v4_t",
}


@pytest.mark.parametrize("name", OURS)
def test_structure_has_the_published_size_and_places(name: str) -> None:
    size, *places = LAYOUTS[name]
    assert ctypes.sizeof(OURS[name]) == int(size)
    for place in places:
        member, _, offset = place.partition("=")
        assert getattr(OURS[name], member).offset == int(offset), member


def test_simulated_library_has_the_published_sizes(built: Path) -> None:
    size_of = ctypes.CDLL(str(built)).simulated_size_of
    size_of.restype = ctypes.c_ulong
    assert {name: size_of(name.encode()) for name in LAYOUTS} == {
        name: int(words[0]) for name, words in LAYOUTS.items()
    }


@pytest.mark.parametrize("name", NVIDIAS)
def test_nvidias_own_binding_agrees(name: str) -> None:
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    assert ctypes.sizeof(getattr(pynvml, NVIDIAS[name])) == int(LAYOUTS[name][0])


def test_versions_are_the_published_ones() -> None:
    assert abi.struct_version(abi.Memory2, 2) == VERSIONS["nvmlMemory_v2_t"]
    assert abi.struct_version(abi.FabricInfo2, 2) == VERSIONS["nvmlGpuFabricInfo_v2_t"]


@given(st.binary(min_size=40, max_size=40))
def test_any_bytes_of_a_field_are_a_number_or_a_reason(data: bytes) -> None:
    place = abi.NvmlFieldValue.from_buffer_copy(data)
    field, _, _, _, kind, code, raw = PLACE.unpack(bytes(place))
    value = read_value(field, kind, code, raw)
    member = getattr(place.value, MEMBERS[kind] if kind < len(MEMBERS) else "ullVal")
    assert isinstance(value, str) if place.nvmlReturn else value == member or value != value != member


@given(st.sets(st.integers(0, 300)))
def test_list_of_numbers_can_be_spread_again(numbers: set[int]) -> None:
    assert parse_number_list(format_number_list(numbers)) == sorted(numbers)
