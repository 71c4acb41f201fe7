"""The small family of metrics that every vendor's GPUs give, and the words they share."""

from __future__ import annotations

from vigie.model import gauge, info

GPU = ("gpu", "uuid", "vendor", "model")

METRICS = (
    INFO := info(
        "vigie_gpu_info", "Which GPU this is, where it sits, and its driver.", *GPU, "pci_bus_id", "driver"
    ),
    BUSY := gauge("vigie_gpu_busy_ratio", "Share of time in which the GPU ran something.", *GPU),
    MEMORY_BUSY := gauge(
        "vigie_gpu_memory_busy_ratio", "Share of time in which the GPU's memory was read or written.", *GPU
    ),
    MEMORY_USED := gauge("vigie_gpu_memory_used_bytes", "Memory of the GPU that is taken.", *GPU),
    MEMORY_TOTAL := gauge("vigie_gpu_memory_total_bytes", "Memory that the GPU has.", *GPU),
    POWER := gauge("vigie_gpu_power_watts", "Power that the GPU draws.", *GPU),
    POWER_LIMIT := gauge("vigie_gpu_power_limit_watts", "Power that the GPU may draw.", *GPU),
    TEMPERATURE := gauge("vigie_gpu_temperature_celsius", "Temperature of the GPU.", *GPU),
    MEMORY_TEMPERATURE := gauge(
        "vigie_gpu_memory_temperature_celsius", "Temperature of the GPU's memory.", *GPU
    ),
    CLOCK := gauge("vigie_gpu_clock_hertz", "Clock at which the GPU computes.", *GPU),
    MEMORY_CLOCK := gauge("vigie_gpu_memory_clock_hertz", "Clock of the GPU's memory.", *GPU),
    FAN := gauge("vigie_gpu_fan_ratio", "How hard the fan is driven, from 0 to 1.", *GPU),
    THROTTLED := gauge("vigie_gpu_throttled", "1 while throttled, by reason.", *GPU, "reason"),
    PCIE_GENERATION := gauge("vigie_gpu_pcie_generation", "Generation of PCIe that the link runs at.", *GPU),
    PCIE_GENERATION_MAX := gauge(
        "vigie_gpu_pcie_generation_max", "Generation of PCIe that the link could run at.", *GPU
    ),
    PCIE_WIDTH := gauge("vigie_gpu_pcie_width", "Lanes of PCIe in use.", *GPU),
    PCIE_WIDTH_MAX := gauge("vigie_gpu_pcie_width_max", "Lanes of PCIe that could be in use.", *GPU),
    PROCESSES := gauge("vigie_gpu_processes", "Processes that compute on the GPU.", *GPU),
    PROCESS_MEMORY := gauge(
        "vigie_gpu_process_memory_bytes",
        "Memory of the GPU that a process holds; with MIG, in which instance.",
        *(*GPU, "pid", "instance"),
    ),
)
