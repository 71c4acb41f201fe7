"""Metrics that GPUs of every vendor have in common."""

from __future__ import annotations

from vigie.model import gauge, info

GPU = ("gpu", "uuid", "vendor", "model")

METRICS = (
    INFO := info("vigie_gpu_info", "Identity, location and driver of the GPU.", *GPU, "pci_bus_id", "driver"),
    BUSY := gauge("vigie_gpu_busy_ratio", "Share of time with a running kernel, 0 to 1.", *GPU),
    MEMORY_BUSY := gauge(
        "vigie_gpu_memory_busy_ratio", "Share of time with memory reads or writes, 0 to 1.", *GPU
    ),
    MEMORY_USED := gauge("vigie_gpu_memory_used_bytes", "Used GPU memory.", *GPU),
    MEMORY_TOTAL := gauge("vigie_gpu_memory_total_bytes", "Total GPU memory.", *GPU),
    POWER := gauge("vigie_gpu_power_watts", "Power draw.", *GPU),
    POWER_LIMIT := gauge("vigie_gpu_power_limit_watts", "Power limit.", *GPU),
    TEMPERATURE := gauge("vigie_gpu_temperature_celsius", "GPU temperature.", *GPU),
    MEMORY_TEMPERATURE := gauge("vigie_gpu_memory_temperature_celsius", "GPU memory temperature.", *GPU),
    CLOCK := gauge("vigie_gpu_clock_hertz", "Compute clock.", *GPU),
    MEMORY_CLOCK := gauge("vigie_gpu_memory_clock_hertz", "Memory clock.", *GPU),
    FAN := gauge("vigie_gpu_fan_ratio", "Fan speed as a share of its maximum, 0 to 1.", *GPU),
    THROTTLED := gauge(
        "vigie_gpu_throttled", "1 while the GPU is throttled for this reason.", *GPU, "reason"
    ),
    PCIE_GENERATION := gauge("vigie_gpu_pcie_generation", "Current PCIe generation.", *GPU),
    PCIE_GENERATION_MAX := gauge("vigie_gpu_pcie_generation_max", "Maximum PCIe generation.", *GPU),
    PCIE_WIDTH := gauge("vigie_gpu_pcie_width", "Current PCIe lanes.", *GPU),
    PCIE_WIDTH_MAX := gauge("vigie_gpu_pcie_width_max", "Maximum PCIe lanes.", *GPU),
    PROCESSES := gauge("vigie_gpu_processes", "Compute processes on the GPU.", *GPU),
    PROCESS_MEMORY := gauge(
        "vigie_gpu_process_memory_bytes",
        "GPU memory used by a process, with its MIG instance if any.",
        *(*GPU, "pid", "instance"),
    ),
    PROCESS_BUSY := gauge(
        "vigie_gpu_process_busy_ratio",
        "Share of time in which the process had the GPU's multiprocessors.",
        *(*GPU, "pid"),
    ),
)
