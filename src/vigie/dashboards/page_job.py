"""The charts of the page Job: its GPUs and nodes, as bands in which an odd rank stands out."""

from __future__ import annotations

from vigie.dashboards._build import rate
from vigie.dashboards._choices import A_DISK, A_JOB, NAME, OF_AGENTS, OF_JOB
from vigie.dashboards._holder_promql import build_share_panel
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Section

_GPU = f"and on (instance, gpu) {OF_JOB}"
_HOST = f"and on (instance) {OF_JOB}"
_IDLE = rate("node_cpu_seconds_total", f'{OF_AGENTS}, mode="idle"')
_IOWAIT = rate("node_cpu_seconds_total", f'{OF_AGENTS}, mode="iowait"')
_SENT = rate("node_infiniband_port_data_transmitted_bytes_total", OF_AGENTS)
_READ = rate("node_disk_read_bytes_total", f"{OF_AGENTS}, {A_DISK}")
_LEFT = f"node_memory_MemAvailable_bytes{{{OF_AGENTS}}} / node_memory_MemTotal_bytes{{{OF_AGENTS}}}"

_CHARTS = (
    Panel(
        "SM and tensor activity",
        "Ranks of one step should move together: one below the band slows all the others.",
        (
            PanelQuery(f"DCGM_FI_PROF_SM_ACTIVE {_GPU}", f"SM {NAME}"),
            PanelQuery(f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE {_GPU}", f"tensor {NAME}"),
        ),
        "ratio",
        "band",
        floor=0,
        ceiling=1,
        needs="the nvidia_profiling source (Hopper or newer)",
    ),
    Panel(
        "GPU memory",
        "A slow climb ends in an out-of-memory error; a rank with much less has another share of the model.",
        (PanelQuery(f"vigie_gpu_memory_used_bytes {_GPU}", NAME),),
        "bytes",
        "band",
        floor=0,
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "GPU power",
        "Power tells work from waiting where activity does not: a rank far below the median only waits.",
        (PanelQuery(f"vigie_gpu_power_watts {_GPU}", NAME),),
        "watts",
        "band",
        floor=0,
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "Fabric, sent",
        "All nodes send alike in each step: silence on all of them is a hang, on one of them a bad link.",
        (
            PanelQuery(f"sum by (instance) ({_SENT}) {_HOST}", "InfiniBand {{instance}}"),
            PanelQuery(
                f"sum by (instance) (max by (instance, gpu) (DCGM_FI_PROF_NVLINK_TX_BYTES) {_GPU})",
                "NVLink {{instance}}",
            ),
        ),
        "bytes/s",
        "band",
        floor=0,
        needs="the infiniband or nvidia_profiling source",
    ),
    Panel(
        "CPU and I/O wait of its nodes",
        "I/O wait or full cores while the GPUs sink mean that data does not come fast enough.",
        (
            PanelQuery(f"1 - avg by (instance) ({_IDLE}) {_HOST}", "busy {{instance}}"),
            PanelQuery(f"avg by (instance) ({_IOWAIT}) {_HOST}", "I/O wait {{instance}}"),
        ),
        "ratio",
        "band",
        floor=0,
        ceiling=1,
    ),
    Panel(
        "Disk read of its nodes",
        "Reading goes in waves with the epochs: a flat line at the disk's limit starves the GPUs.",
        (
            PanelQuery(
                f"sum by (instance) ({_READ}) {_HOST}",
                "{{instance}}",
            ),
        ),
        "bytes/s",
        "band",
        floor=0,
    ),
)

_MORE = (
    build_share_panel(
        "GPU busy",
        "Busy says only that some kernel ran: all at 100% with little SM activity is a poor sort of busy.",
        f"vigie_gpu_busy_ratio {_GPU}",
    ),
    Panel(
        "GPU clock",
        "One rank with a lower clock is held back by power or heat and makes the rest wait.",
        (PanelQuery(f"vigie_gpu_clock_hertz {_GPU}", NAME),),
        "hertz",
        "band",
        floor=0,
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "GPU temperature",
        "One far above its siblings has a cooling problem that will cost clock.",
        (PanelQuery(f"vigie_gpu_temperature_celsius {_GPU}", NAME),),
        "celsius",
        "band",
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "Memory of its nodes",
        "A share that only grows ends with the kernel killing the job.",
        (
            PanelQuery(
                f"1 - {_LEFT} {_HOST}",
                "{{instance}}",
            ),
        ),
        "ratio",
        "band",
        floor=0,
        ceiling=1,
    ),
)

DASHBOARD = Dashboard(
    "page-job",
    "Job",
    "Does it do useful work, which rank is odd, what happened?",
    (Section("Charts", _CHARTS), Section("More", _MORE)),
    (A_JOB,),
    listed=False,
)
