"""Charts of the job page: GPUs and nodes as bands, with outlier ranks named."""

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

_REPORTS = "a job that calls vigie.report"


def _reported(title: str, why: str, measure: str, unit: str) -> Panel:
    """Return the chart of what ranks report, by the job that they name or else by the GPU they are on."""
    series = f'vigie_report_value{{measure="{measure}", job_id'
    named = f'{series}=~"$job"}} {_HOST}'
    unnamed = f'{series}=""}} {_GPU}'
    return Panel(title, why, (PanelQuery(f"{named} or {unnamed}", NAME),), unit, "band", needs=_REPORTS)


_CHARTS = (
    Panel(
        "SM and tensor activity",
        "Ranks of one step move together. One below the band slows the others.",
        (
            PanelQuery(f"DCGM_FI_PROF_SM_ACTIVE {_GPU}", f"SM {NAME}"),
            PanelQuery(f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE {_GPU}", f"tensor {NAME}"),
        ),
        "ratio",
        "band",
        ceiling=1,
        needs="the nvidia_profiling source (Hopper or newer)",
    ),
    Panel(
        "GPU memory",
        "Steady growth ends in an out-of-memory error. A rank far below has another part of the model.",
        (PanelQuery(f"vigie_gpu_memory_used_bytes {_GPU}", NAME),),
        "bytes",
        "band",
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "GPU power",
        "A rank far below the median is waiting.",
        (PanelQuery(f"vigie_gpu_power_watts {_GPU}", NAME),),
        "watts",
        "band",
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "Fabric sent",
        "All nodes send alike in each step. Silence on all is a hang, on one a bad link.",
        (
            PanelQuery(f"sum by (instance) ({_SENT}) {_HOST}", "InfiniBand {{instance}}"),
            PanelQuery(
                f"sum by (instance) (max by (instance, gpu) (DCGM_FI_PROF_NVLINK_TX_BYTES) {_GPU})",
                "NVLink {{instance}}",
            ),
        ),
        "bytes/s",
        "band",
        needs="the infiniband or nvidia_profiling source",
    ),
    Panel(
        "CPU and I/O wait by node",
        "I/O wait or saturated cores while GPUs drop: data arrives too slowly.",
        (
            PanelQuery(f"1 - avg by (instance) ({_IDLE}) {_HOST}", "busy {{instance}}"),
            PanelQuery(f"avg by (instance) ({_IOWAIT}) {_HOST}", "I/O wait {{instance}}"),
        ),
        "ratio",
        "band",
        ceiling=1,
    ),
    Panel(
        "Disk read by node",
        "Reads follow the epochs. A plateau at the disk's limit starves the GPUs.",
        (
            PanelQuery(
                f"sum by (instance) ({_READ}) {_HOST}",
                "{{instance}}",
            ),
        ),
        "bytes/s",
        "band",
    ),
    _reported("Loss", "It should sink: one that climbs or jumps has diverged.", "loss", ""),
    _reported(
        "Step time",
        "Ranks wait for the slowest, so a step that takes longer costs all of them.",
        "step_seconds",
        "seconds",
    ),
)

_MORE = (
    _reported("Samples per second", "The rate of training, by rank.", "samples_per_second", "count"),
    _reported(
        "Model FLOPs utilization",
        "The share of the hardware's peak that the model uses: what is lost is waiting or overhead.",
        "mfu",
        "ratio",
    ),
    build_share_panel(
        "GPU busy",
        "A kernel ran, no more. 100% busy without SM activity is not useful.",
        f"vigie_gpu_busy_ratio {_GPU}",
    ),
    Panel(
        "GPU clock",
        "A rank with a lower clock is throttled and slows the rest.",
        (PanelQuery(f"vigie_gpu_clock_hertz {_GPU}", NAME),),
        "hertz",
        "band",
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "GPU temperature",
        "One far above its peers has a cooling problem and will throttle.",
        (PanelQuery(f"vigie_gpu_temperature_celsius {_GPU}", NAME),),
        "celsius",
        "band",
        needs="the nvidia or amdgpu source",
        floor=None,
    ),
    Panel(
        "Memory by node",
        "Steady growth ends in OOM kills.",
        (
            PanelQuery(
                f"1 - {_LEFT} {_HOST}",
                "{{instance}}",
            ),
        ),
        "ratio",
        "band",
        ceiling=1,
    ),
)

DASHBOARD = Dashboard(
    "page-job",
    "Job",
    "Does it do useful work, which rank is an outlier, what happened?",
    (Section("Charts", _CHARTS), Section("More", _MORE)),
    (A_JOB,),
    listed=False,
)
