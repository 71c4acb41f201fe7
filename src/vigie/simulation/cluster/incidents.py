"""What goes wrong in the simulated cluster, and the truth about each. Times are minutes from now."""

from __future__ import annotations

from typing import NamedTuple

CLOCK_CAP, XID_79, ROW_REMAP, LINK_FLAP, STARVED = "clock-cap", "xid-79", "row-remap", "link-flap", "starved"
LEAK, LOST, PCIE, HANG, NEIGHBOUR, DRAINED = "leak", "lost", "pcie", "hang", "neighbour", "drained"


class ScriptedIncident(NamedTuple):
    """One thing that goes wrong: what, where, from when to when, whom it hits, and what is true."""

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
        "A power brake holds the clock of one GPU at 1095 MHz; all 32 ranks of the job wait for it.",
        gpu=5,
        job="4211",
    ),
    ScriptedIncident(
        "xid-79-gpu08-2",
        XID_79,
        "gpu08",
        -35,
        None,
        "The GPU has fallen off the bus (XID 79); its job died two minutes later. It needs a power cycle.",
        gpu=2,
        job="4224",
    ),
    ScriptedIncident(
        "row-remap-gpu04-1",
        ROW_REMAP,
        "gpu04",
        -190,
        None,
        "An uncorrectable memory error; a row is to be remapped, which needs a reset of the GPU.",
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
        "The data loader reads slowly: the GPUs wait for data two thirds of the time, the CPUs for the disk.",
        job="4222",
    ),
    ScriptedIncident(
        "leak-cpu01",
        LEAK,
        "cpu01",
        -150,
        -8,
        "A process leaks memory until the kernel kills it; the job then begins anew.",
        job="4243",
    ),
    ScriptedIncident("lost-gpu06", LOST, "gpu06", -270, -258, "The node restarted by itself and came back."),
    ScriptedIncident("lost-gpu14", LOST, "gpu14", -55, None, "The node is gone and has not come back."),
    ScriptedIncident(
        "pcie-gpu09-6",
        PCIE,
        "gpu09",
        -90,
        None,
        "The PCIe link of one GPU fell back from 16 lanes to 4; copies to it are slow.",
        gpu=6,
    ),
    ScriptedIncident(
        "hang-moe-rank-3",
        HANG,
        "gpu05",
        -12,
        None,
        "Rank 3 hangs outside of CUDA; the other seven spin in a collective and look busy, at low power.",
        gpu=3,
        job="4219",
    ),
    ScriptedIncident(
        "neighbour-gpu09",
        NEIGHBOUR,
        "gpu09",
        -100,
        -70,
        "Somebody compiles on the node with every core; the inference server answers half as many requests.",
        job="4227",
    ),
    ScriptedIncident(
        "drained-gpu13", DRAINED, "gpu13", -320, None, "Drained: 'ECC errors on DIMM A3, ticket open'."
    ),
)
