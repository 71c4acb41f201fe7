"""Scripted incidents, and the truth about each. Times are minutes from now."""

from __future__ import annotations

from typing import NamedTuple

CLOCK_CAP, XID_79, ROW_REMAP, LINK_FLAP, STARVED = "clock-cap", "xid-79", "row-remap", "link-flap", "starved"
LEAK, LOST, PCIE, HANG, NEIGHBOUR, DRAINED = "leak", "lost", "pcie", "hang", "neighbour", "drained"


class ScriptedIncident(NamedTuple):
    """One incident: kind, place, times, affected job, and truth."""

    id: str
    kind: str
    node: str
    begin: float
    end: float | None
    truth: str
    gpu: int | None = None
    device: str = ""
    job: str = ""


INCIDENTS = (
    ScriptedIncident(
        "straggler-gpu03-5",
        CLOCK_CAP,
        "gpu03",
        -50,
        None,
        "A hardware power brake limits one GPU to 1095 MHz. All 32 ranks of the job wait for it.",
        gpu=5,
        job="4211",
    ),
    ScriptedIncident(
        "xid-79-gpu08-2",
        XID_79,
        "gpu08",
        -35,
        None,
        "The GPU has fallen off the bus (XID 79). Its job died two minutes later. It needs a power cycle.",
        gpu=2,
        job="4224",
    ),
    ScriptedIncident(
        "row-remap-gpu04-1",
        ROW_REMAP,
        "gpu04",
        -190,
        None,
        "An uncorrectable memory error. A row remap is pending and needs a GPU reset.",
        gpu=1,
        job="4211",
    ),
    ScriptedIncident(
        "link-flap-gpu02-mlx5_3",
        LINK_FLAP,
        "gpu02",
        -140,
        -135,
        "A bad cable: the InfiniBand port went down three times within five minutes.",
        device="mlx5_3",
        job="4211",
    ),
    ScriptedIncident(
        "starved-segment-xl",
        STARVED,
        "gpu07",
        -120,
        None,
        "The data loader is slow: GPUs wait for data two thirds of the time, CPUs for the disk.",
        job="4222",
    ),
    ScriptedIncident(
        "leak-cpu01",
        LEAK,
        "cpu01",
        -150,
        -8,
        "A process leaks memory until it is OOM-killed. The job then restarts.",
        job="4243",
    ),
    ScriptedIncident("lost-gpu06", LOST, "gpu06", -270, -258, "The node rebooted by itself and returned."),
    ScriptedIncident("lost-gpu14", LOST, "gpu14", -55, None, "The node is unreachable and has not returned."),
    ScriptedIncident(
        "pcie-gpu09-6",
        PCIE,
        "gpu09",
        -90,
        None,
        "The PCIe link of one GPU was downgraded from 16 lanes to 4. Copies to it are slow.",
        gpu=6,
    ),
    ScriptedIncident(
        "hang-moe-rank-3",
        HANG,
        "gpu05",
        -12,
        None,
        "Rank 3 hangs outside of CUDA. The other seven spin in a collective: busy, at low power.",
        gpu=3,
        job="4219",
    ),
    ScriptedIncident(
        "neighbour-gpu09",
        NEIGHBOUR,
        "gpu09",
        -100,
        -70,
        "A user compiles on all cores of the node. The inference server handles half as many requests.",
        job="4227",
    ),
    ScriptedIncident(
        "drained-gpu13", DRAINED, "gpu13", -320, None, "Drained: 'ECC errors on DIMM A3, ticket open'."
    ),
)
