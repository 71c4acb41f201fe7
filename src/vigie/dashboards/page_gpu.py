"""Charts of the GPU page."""

from __future__ import annotations

from vigie.dashboards._choices import A_GPU, A_GPU_NODE, ON_GPU
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Section

_NEEDS = "the nvidia or amdgpu source"

_CHARTS = (
    Panel(
        "Activity",
        "High busy with low SM: few or small kernels. High DRAM with low tensor: memory-bound.",
        (
            PanelQuery(f"vigie_gpu_busy_ratio{{{ON_GPU}}}", "busy"),
            PanelQuery(f"DCGM_FI_PROF_SM_ACTIVE{{{ON_GPU}}}", "SM"),
            PanelQuery(f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{{ON_GPU}}}", "tensor"),
            PanelQuery(f"DCGM_FI_PROF_DRAM_ACTIVE{{{ON_GPU}}}", "DRAM"),
        ),
        "ratio",
        ceiling=1,
        needs=_NEEDS,
    ),
    Panel(
        "Memory by process",
        "A process that only grows leaks. The rest is unattributed memory.",
        (
            PanelQuery(f"vigie_gpu_process_memory_bytes{{{ON_GPU}}}", "process {{pid}}"),
            PanelQuery(f"vigie_gpu_memory_used_bytes{{{ON_GPU}}}", "taken"),
            PanelQuery(f"vigie_gpu_memory_total_bytes{{{ON_GPU}}}", "total"),
        ),
        "bytes",
        needs=_NEEDS,
    ),
    Panel(
        "Power and its limit",
        "Power at the limit lowers the clock. Idle power while allocated: no work.",
        (
            PanelQuery(f"vigie_gpu_power_watts{{{ON_GPU}}}", "drawn"),
            PanelQuery(f"vigie_gpu_power_limit_watts{{{ON_GPU}}}", "allowed"),
        ),
        "watts",
        needs=_NEEDS,
    ),
    Panel(
        "Temperature",
        "Near the slowdown temperature the clock drops. Compare with its peers.",
        (
            PanelQuery(f"vigie_gpu_temperature_celsius{{{ON_GPU}}}", "GPU"),
            PanelQuery(f"vigie_gpu_memory_temperature_celsius{{{ON_GPU}}}", "memory"),
            PanelQuery(f"DCGM_FI_DEV_SLOWDOWN_TEMP{{{ON_GPU}}}", "slowdown"),
        ),
        "celsius",
        needs=_NEEDS,
        floor=None,
    ),
    Panel(
        "Clock and throttling",
        "Colored parts show the throttle reason: power, temperature or hardware.",
        (
            PanelQuery(f"vigie_gpu_clock_hertz{{{ON_GPU}}}", "clock"),
            PanelQuery(
                f"(vigie_gpu_throttled{{{ON_GPU}}} == 1)"
                f" * on (instance, gpu) group_left () vigie_gpu_clock_hertz{{{ON_GPU}}}",
                "throttled: {{reason}}",
                state="warning",
            ),
            PanelQuery(f"DCGM_FI_DEV_MAX_SM_CLOCK{{{ON_GPU}}} * 1e6", "maximum"),
        ),
        "hertz",
        needs=_NEEDS,
    ),
    Panel(
        "PCIe and NVLink",
        "Constant PCIe traffic: data is copied back and forth. NVLink follows the steps of a job.",
        (
            PanelQuery(f"DCGM_FI_PROF_PCIE_TX_BYTES{{{ON_GPU}}}", "PCIe out"),
            PanelQuery(f"DCGM_FI_PROF_PCIE_RX_BYTES{{{ON_GPU}}}", "PCIe in"),
            PanelQuery(f"DCGM_FI_PROF_NVLINK_TX_BYTES{{{ON_GPU}}}", "NVLink out"),
            PanelQuery(f"DCGM_FI_PROF_NVLINK_RX_BYTES{{{ON_GPU}}}", "NVLink in"),
        ),
        "bytes/s",
        needs="the nvidia_profiling source (Hopper or newer)",
    ),
)

DASHBOARD = Dashboard(
    "page-gpu",
    "GPU",
    "Is it working, is it healthy, who used it when?",
    (Section("Charts", _CHARTS),),
    (A_GPU_NODE, A_GPU),
    listed=False,
)
