"""For each alert, series that make it fire and series that are near and must not, as promtool spells them."""

from __future__ import annotations

from typing import NamedTuple

Given = dict[str, str]  # series -> values, a minute apart


class Example(NamedTuple):
    """What makes an alert fire at a time, with which labels and value, and what does not."""

    fires: Given
    at: str
    labels: dict[str, str]
    quiet: Given
    value: str = ""


AT = 'instance="n1",job="node"'
CARD = f'{AT},gpu="0"'
ON_NODE, ON_GPU = {"instance": "n1"}, {"instance": "n1", "gpu": "0"}
NODE = {"instance": "n1", "job": "node"}
PORT = f'{AT},device="mlx5_0",port="1"'
ON_PORT = {**ON_NODE, "device": "mlx5_0", "port": "1"}
HELD = 'vigie_holder_info{instance="n1",job="node",gpu="%s",kind="job",holder="42",user="ada"}'
OF_JOB = {**ON_GPU, "holder": "42", "user": "ada"}
DISK = f'{AT},device="/dev/sda1",fstype="ext4",mountpoint="/scratch"'


def _ranks(busy_of_first: str) -> Given:
    """Return a job of three GPUs, of which all but the first are busy."""
    given = {}
    for gpu, busy in (("0", busy_of_first), ("1", "1x30"), ("2", "1x30")):
        given[HELD % gpu] = "1x30"
        given[f'vigie_gpu_busy_ratio{{{AT},gpu="{gpu}"}}'] = busy
        given[f'vigie_gpu_processes{{{AT},gpu="{gpu}"}}'] = "1x30"
    return given


def _holder(busy: str) -> Given:
    return {
        HELD % "0": "1x120",
        f"vigie_gpu_busy_ratio{{{CARD}}}": busy,
        f"vigie_gpu_processes{{{CARD}}}": "1x120",
    }


def _disk(available: str) -> Given:
    return {
        f"node_filesystem_avail_bytes{{{DISK}}}": available,
        f"node_filesystem_size_bytes{{{DISK}}}": "100x30",
        f"node_filesystem_readonly{{{DISK}}}": "0x30",
    }


def _memory(available: str) -> Given:
    return {
        f"node_memory_MemAvailable_bytes{{{AT}}}": available,
        f"node_memory_MemTotal_bytes{{{AT}}}": "100x40",
    }


EXAMPLES = {
    "NodeLost": Example({f"up{{{AT}}}": "1x5 0x10"}, "10m", NODE, {f"up{{{AT}}}": "1x20"}),
    "GpuLost": Example(
        {f"up{{{AT}}}": "1x30", f'vigie_gpu_info{{{CARD},uuid="GPU-1"}}': "1x5 stale"},
        "20m",
        {**NODE, "gpu": "0", "uuid": "GPU-1"},
        {f"up{{{AT}}}": "1x5 0x25", f'vigie_gpu_info{{{CARD},uuid="GPU-1"}}': "1x5 stale"},
    ),
    "Xid": Example(
        {f"up{{{AT}}}": "1x30", f'vigie_xid_errors_total{{{AT},pci_bus_id="a",xid="79"}}': "_x20 1x10"},
        "25m",
        {**NODE, "pci_bus_id": "a", "xid": "79"},
        {f"up{{{AT}}}": "1x30", f'vigie_xid_errors_total{{{AT},pci_bus_id="a",xid="13"}}': "_x20 1x10"},
    ),
    "EccUncorrected": Example(
        {f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{CARD}}}": "0x10 1x20"},
        "20m",
        ON_GPU,
        {f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{CARD}}}": "3x30"},
    ),
    "RowRemapPending": Example(
        {f"DCGM_FI_DEV_ROW_REMAP_PENDING{{{CARD}}}": "1x20"},
        "10m",
        ON_GPU,
        {f"DCGM_FI_DEV_ROW_REMAP_PENDING{{{CARD}}}": "0x20"},
    ),
    "RowRemapFailed": Example(
        {f"DCGM_FI_DEV_ROW_REMAP_FAILURE{{{CARD}}}": "1x20"},
        "10m",
        ON_GPU,
        {f"DCGM_FI_DEV_ROW_REMAP_FAILURE{{{CARD}}}": "0x20"},
    ),
    "GpuThrottled": Example(
        {f'vigie_gpu_throttled{{{CARD},reason="hw_power_brake"}}': "1x20"},
        "10m",
        {**ON_GPU, "reason": "hw_power_brake"},
        {f'vigie_gpu_throttled{{{CARD},reason="power_cap"}}': "1x20"},
    ),
    "PcieDowngrade": Example(
        {f"vigie_gpu_pcie_width{{{CARD}}}": "8x20", f"vigie_gpu_pcie_width_max{{{CARD}}}": "16x20"},
        "15m",
        ON_GPU,
        {f"vigie_gpu_pcie_width{{{CARD}}}": "16x20", f"vigie_gpu_pcie_width_max{{{CARD}}}": "16x20"},
        "8",
    ),
    "NvlinkDown": Example(
        {f'vigie_gpu_nvlink_up{{{CARD},link="3"}}': "1x60 0x20"},
        "70m",
        {**NODE, "gpu": "0", "link": "3"},
        {f'vigie_gpu_nvlink_up{{{CARD},link="3"}}': "0x80"},
    ),
    "IbLinkDown": Example(
        {
            f"node_infiniband_state_id{{{PORT}}}": "1x20",
            f"node_infiniband_link_downed_total{{{PORT}}}": "1x20",
        },
        "10m",
        ON_PORT,
        {
            f"node_infiniband_state_id{{{PORT}}}": "1x20",
            f"node_infiniband_link_downed_total{{{PORT}}}": "0x20",
        },
    ),
    "IbLinkFlap": Example(
        {f"node_infiniband_link_downed_total{{{PORT}}}": "0+1x10"},
        "8m",
        ON_PORT,
        {f"node_infiniband_link_downed_total{{{PORT}}}": "0x5 1x10"},
    ),
    "RankHung": Example(_ranks("0x30"), "20m", OF_JOB, _ranks("1x30")),
    "IdleHolder": Example(_holder("0x120"), "100m", OF_JOB, _holder("0.9x120")),
    "MemoryErrors": Example(
        {f'node_edac_uncorrectable_errors_total{{{AT},controller="0"}}': "0x10 2x20"},
        "20m",
        ON_NODE,
        {f'node_edac_uncorrectable_errors_total{{{AT},controller="0"}}': "2x30"},
    ),
    "MemoryLeak": Example(_memory("45-1x40"), "30m", ON_NODE, _memory("45x40")),
    "OomKill": Example(
        {f"node_vmstat_oom_kill{{{AT}}}": "0x10 1x20"},
        "12m",
        ON_NODE,
        {f"node_vmstat_oom_kill{{{AT}}}": "7x30"},
    ),
    "DiskFull": Example(_disk("1x30"), "20m", {**ON_NODE, "mountpoint": "/scratch"}, _disk("50x30"), "1%"),
    "ClockSkew": Example(
        {f"vigie_node_clock_offset_seconds{{{AT}}}": "-30x20"},
        "15m",
        NODE,
        {f"vigie_node_clock_offset_seconds{{{AT}}}": "2x20"},
        "30s",
    ),
    "ExporterDown": Example(
        {'up{instance="n1",job="dcgm-exporter"}': "0x20"},
        "15m",
        {**ON_NODE, "job": "dcgm-exporter"},
        {'up{instance="n1",job="dcgm-exporter"}': "1x20"},
    ),
    "StoreDamaged": Example(
        {'vigie_server_store_damages{instance="s",job="vigie"}': "1x5"},
        "3m",
        {"instance": "s", "job": "vigie"},
        {'vigie_server_store_damages{instance="s",job="vigie"}': "0x5"},
    ),
}
