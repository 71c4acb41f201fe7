"""Profiling counters: activity of each part of a GPU."""

from __future__ import annotations

from vigie.dashboards._build import build_multi_panel, build_panel
from vigie.dashboards._choices import NAME, ON_GPU
from vigie.model.dashboard import Dashboard, Panel, Section, Variable

NEEDS = "the nvidia_profiling source (Hopper or newer)"
_NODES = Variable("node", "Nodes", metric="DCGM_FI_PROF_SM_ACTIVE", by="instance", multi=True)
_GPUS = Variable("gpu", "GPUs", metric='DCGM_FI_PROF_SM_ACTIVE{instance=~"$node"}', by="gpu", multi=True)


def _share(title: str, why: str, name: str) -> Panel:
    return build_panel(
        title,
        why,
        "ratio",
        f"DCGM_FI_PROF_{name}{{{ON_GPU}}}",
        NAME,
        kind="band",
        needs=NEEDS,
        ceiling=1,
    )


def _flow(title: str, why: str, name: str) -> Panel:
    return build_panel(
        title, why, "bytes/s", f"DCGM_FI_PROF_{name}{{{ON_GPU}}}", NAME, kind="band", needs=NEEDS
    )


def _of_node(metric: str) -> str:
    """Return the sum over a node's GPUs, each once: a relayed exporter may have the same series."""
    return f"sum by (instance) (max by (instance, gpu) ({metric}{{{ON_GPU}}}))"


_MULTIPROCESSORS = (
    _share("Graphics engine active", "Any work at all: the upper bound of all below.", "GR_ENGINE_ACTIVE"),
    _share(
        "SM active",
        "Above 80% is well used. Below 50% kernels are too few or too small.",
        "SM_ACTIVE",
    ),
    _share(
        "SM occupancy", "Low with high SM active may be fine: large kernels need few warps.", "SM_OCCUPANCY"
    ),
    _share(
        "Tensor active",
        "Where training and inference should spend time. Near 0: unused.",
        "PIPE_TENSOR_ACTIVE",
    ),
    _share("FP64 active", "Double precision: unexpected in training.", "PIPE_FP64_ACTIVE"),
    _share(
        "FP32 active",
        "High with low tensor: mixed precision is off.",
        "PIPE_FP32_ACTIVE",
    ),
    _share("FP16 active", "Half precision outside tensor cores.", "PIPE_FP16_ACTIVE"),
)
_MEMORY = (
    _share("DRAM active", "Above 80% the work is memory-bound.", "DRAM_ACTIVE"),
    build_panel(
        "Tensor per SM activity",
        "Share of work done by tensor cores. Compare jobs of one kind.",
        "ratio",
        f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{{ON_GPU}}} / (DCGM_FI_PROF_SM_ACTIVE{{{ON_GPU}}} > 0.01)",
        NAME,
        kind="band",
        needs=NEEDS,
    ),
)
_LINKS = (
    _flow("NVLink sent", "Steps of a job within a node: equal ranks, in waves.", "NVLINK_TX_BYTES"),
    _flow("NVLink received", "One that receives much less waits for a peer.", "NVLINK_RX_BYTES"),
    _flow("PCIe sent", "Results and checkpoints.", "PCIE_TX_BYTES"),
    _flow("PCIe received", "Input data. A plateau at the link's limit starves the GPU.", "PCIE_RX_BYTES"),
    build_multi_panel(
        "All links by node",
        "Between the GPUs of the node, or out of it.",
        "bytes/s",
        {
            "NVLink {{instance}}": _of_node("DCGM_FI_PROF_NVLINK_TX_BYTES"),
            "PCIe {{instance}}": _of_node("DCGM_FI_PROF_PCIE_TX_BYTES"),
        },
        kind="band",
        needs=NEEDS,
    ),
)

DASHBOARD = Dashboard(
    "profiling",
    "Profiling counters",
    "Activity of SMs, tensor cores, memory and links by GPU.",
    (
        Section("Multiprocessors", _MULTIPROCESSORS),
        Section("Memory", _MEMORY),
        Section("Links", _LINKS),
    ),
    (_NODES, _GPUS),
)
