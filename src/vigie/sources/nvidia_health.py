"""NVIDIA GPUs through NVML, slow metrics: errors, remapped rows, limits, fan, PCIe link, MIG, fabric."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref, c_uint, c_ulonglong

from vigie.model import Sample, counter, gauge, info
from vigie.sources import _gpu
from vigie.sources._nvml import abi, fields
from vigie.sources._nvml.fields import FieldRow
from vigie.sources._nvml.gpu import DCGM, PERMANENT_ERRORS, NvmlGpu, read_text
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.samples import (
    GpuReader,
    GpuReading,
    build_fixed_series,
    read_all,
    read_one,
    read_samples,
)
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    *(_gpu.POWER_LIMIT, _gpu.FAN, _gpu.PCIE_GENERATION, _gpu.PCIE_GENERATION_MAX),
    *(_gpu.PCIE_WIDTH, _gpu.PCIE_WIDTH_MAX),
    REPLAYS := counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "PCIe replays.", *DCGM),
    LICENSED := gauge("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "1 if vGPU software is licensed.", *DCGM),
    REMAPPED_UNC := counter(
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "Rows remapped after uncorrectable errors.", *DCGM
    ),
    REMAPPED_COR := counter(
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "Rows remapped after correctable errors.", *DCGM
    ),
    REMAP_FAILURE := gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "1 if remapping a row failed.", *DCGM),
    REMAP_PENDING := gauge(
        "DCGM_FI_DEV_ROW_REMAP_PENDING", "1 if a row remap is pending until the next reset.", *DCGM
    ),
    SBE_VOL := counter(
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "Corrected memory errors since the driver was loaded.", *DCGM
    ),
    DBE_VOL := counter(
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Uncorrectable memory errors since the driver was loaded.", *DCGM
    ),
    SBE_AGG := counter("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "Lifetime corrected memory errors.", *DCGM),
    DBE_AGG := counter("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "Lifetime uncorrectable memory errors.", *DCGM),
    RETIRED_SBE := counter("DCGM_FI_DEV_RETIRED_SBE", "Pages retired after single-bit errors.", *DCGM),
    RETIRED_DBE := counter("DCGM_FI_DEV_RETIRED_DBE", "Pages retired after double-bit errors.", *DCGM),
    RETIRED_PENDING := counter("DCGM_FI_DEV_RETIRED_PENDING", "Pages pending retirement.", *DCGM),
    MANAGEMENT_LIMIT := gauge("DCGM_FI_DEV_POWER_MGMT_LIMIT", "Configured power limit in W.", *DCGM),
    ENFORCED_LIMIT := gauge(
        "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "Enforced power limit, the lowest of all, in W.", *DCGM
    ),
    SLOWDOWN_TEMP := gauge("DCGM_FI_DEV_SLOWDOWN_TEMP", "Slowdown temperature in degrees Celsius.", *DCGM),
    FAN_SPEED := gauge("DCGM_FI_DEV_FAN_SPEED", "Fan speed in percent.", *DCGM),
    MAX_SM_CLOCK := gauge("DCGM_FI_DEV_MAX_SM_CLOCK", "Maximum GPU clock in MHz.", *DCGM),
    MAX_MEM_CLOCK := gauge("DCGM_FI_DEV_MAX_MEM_CLOCK", "Maximum memory clock in MHz.", *DCGM),
    LINK_GEN := gauge("DCGM_FI_DEV_PCIE_LINK_GEN", "Current PCIe generation.", *DCGM),
    MAX_LINK_GEN := gauge("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "Maximum PCIe generation.", *DCGM),
    LINK_WIDTH := gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", "Current PCIe lanes.", *DCGM),
    MAX_LINK_WIDTH := gauge("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "Maximum PCIe lanes.", *DCGM),
    BOARD := info(
        "vigie_gpu_board_info", "Serial number and firmware of the board.", *_gpu.GPU, "serial", "vbios"
    ),
    MIG_MODE := gauge("vigie_gpu_mig_mode", "1 if MIG is enabled.", *_gpu.GPU),
    MIG_INSTANCE := info(
        "vigie_gpu_mig_instance_info", "A MIG instance.", *_gpu.GPU, "instance", "profile", "mig_uuid"
    ),
    FABRIC := gauge(
        "vigie_gpu_fabric_state",
        "NVLink fabric state: 1 not started, 2 in progress, 3 completed.",
        *_gpu.GPU,
    ),
    FABRIC_STATUS := gauge(
        "vigie_gpu_fabric_status",
        "Status of the fabric registration, 0 if successful, else NVML's error number.",
        *_gpu.GPU,
    ),
)

FIELDS = (
    *(FieldRow(metric, 3 + place) for place, metric in enumerate((SBE_VOL, DBE_VOL, SBE_AGG, DBE_AGG))),
    FieldRow(RETIRED_DBE, 30),
    FieldRow(RETIRED_PENDING, 31),
    FieldRow(REMAPPED_COR, 142),
    FieldRow(REMAPPED_UNC, 143),
    FieldRow(REMAP_PENDING, 144),
    FieldRow(REMAP_FAILURE, 145),
)
FABRIC_VERSION = abi.struct_version(abi.FabricInfo2, 2)
NO_FABRIC = 0  # the state of a GPU outside a fabric


def read(host: Host) -> list[Sample]:
    """Return the slow metrics of every GPU."""
    return read_samples(host, READERS)


def _read_board(gpu: NvmlGpu) -> Iterator[GpuReading]:
    if "board" not in gpu.cache:
        gpu.cache["board"] = (
            _read_text(gpu, "nvmlDeviceGetSerial"),
            _read_text(gpu, "nvmlDeviceGetVbiosVersion"),
        )
    there = any(gpu.cache["board"])
    yield GpuReading(BOARD, 1 if there else None, gpu.cache["board"], why="not supported by this GPU")


def _read_text(gpu: NvmlGpu, function: str) -> str:
    try:
        return read_text(gpu.library, function, gpu.handle, 32)
    except NvmlError as error:
        if error.code in PERMANENT_ERRORS:
            return ""
        raise


def _read_retired_pages(gpu: NvmlGpu) -> Iterator[GpuReading]:
    room = 64
    count, pages = c_uint(room), (c_ulonglong * room)()
    try:
        gpu.call("nvmlDeviceGetRetiredPages", 0, byref(count), pages)
    except NvmlError as error:
        if error.code != abi.INSUFFICIENT_SIZE:
            raise
    yield GpuReading(RETIRED_SBE, count.value)


def _read_license(gpu: NvmlGpu) -> Iterator[GpuReading]:
    answer = abi.LicensableFeatures()
    gpu.call("nvmlDeviceGetGridLicensableFeatures_v4", byref(answer))
    there = min(answer.licensableFeaturesCount, len(answer.gridLicensableFeatures))
    features = answer.gridLicensableFeatures[:there] if answer.isGridLicenseSupported else ()
    yield GpuReading(LICENSED, int(any(feature.featureState for feature in features)))


def _read_mig(gpu: NvmlGpu) -> Iterator[GpuReading]:
    current, pending = c_uint(), c_uint()
    gpu.call("nvmlDeviceGetMigMode", byref(current), byref(pending))
    gpu.find_instances()
    yield GpuReading(MIG_MODE, current.value)
    for part in gpu.parts:
        yield GpuReading(MIG_INSTANCE, 1, (str(part.instance), part.profile, part.uuid))


def _read_fabric(gpu: NvmlGpu) -> Iterator[GpuReading]:
    answer = abi.FabricInfo2(version=FABRIC_VERSION)
    gpu.call("nvmlDeviceGetGpuFabricInfoV", byref(answer))
    if answer.state == NO_FABRIC:
        for metric in (FABRIC, FABRIC_STATUS):
            yield GpuReading(metric, None, why="the GPU is not part of a fabric")
        return
    yield GpuReading(FABRIC, answer.state)
    yield GpuReading(FABRIC_STATUS, answer.status)


def _read_fan(gpu: NvmlGpu) -> tuple[float, float]:
    percent = gpu.read_int("nvmlDeviceGetFanSpeed")
    return percent, percent / 100


READERS = (
    read_all(
        fields.build_fixed_fields("health", FIELDS),
        read_one("nvmlDeviceGetPcieReplayCounter", (REPLAYS, 1)),
        read_one("nvmlDeviceGetPowerManagementLimit", (MANAGEMENT_LIMIT, 0.001)),
        read_one("nvmlDeviceGetEnforcedPowerLimit", (ENFORCED_LIMIT, 0.001), (_gpu.POWER_LIMIT, 0.001)),
        read_one("nvmlDeviceGetTemperatureThreshold", (SLOWDOWN_TEMP, 1), arguments=(abi.SLOWDOWN,)),
        read_one("nvmlDeviceGetMaxClockInfo", (MAX_SM_CLOCK, 1), arguments=(abi.CLOCK_SM,)),
        read_one("nvmlDeviceGetMaxClockInfo", (MAX_MEM_CLOCK, 1), arguments=(abi.CLOCK_MEMORY,)),
        read_one("nvmlDeviceGetCurrPcieLinkGeneration", (LINK_GEN, 1), (_gpu.PCIE_GENERATION, 1)),
        read_one("nvmlDeviceGetMaxPcieLinkGeneration", (MAX_LINK_GEN, 1), (_gpu.PCIE_GENERATION_MAX, 1)),
        read_one("nvmlDeviceGetCurrPcieLinkWidth", (LINK_WIDTH, 1), (_gpu.PCIE_WIDTH, 1)),
        read_one("nvmlDeviceGetMaxPcieLinkWidth", (MAX_LINK_WIDTH, 1), (_gpu.PCIE_WIDTH_MAX, 1)),
        build_fixed_series(_read_fan, FAN_SPEED, _gpu.FAN),
    ),
    GpuReader((BOARD,), _read_board),
    GpuReader((RETIRED_SBE,), _read_retired_pages),
    GpuReader((LICENSED,), _read_license),
    GpuReader((MIG_MODE,), _read_mig),
    GpuReader((FABRIC, FABRIC_STATUS), _read_fabric),
)

SOURCE = Source("nvidia_health", METRICS, read, slow=True, every=30)
