"""Settings of how GPUs are read."""

from __future__ import annotations

from vigie.common.config import Setting, one_of, text

GPUS = (
    Setting(
        "gpus",
        "nvml_library",
        "libnvidia-ml.so.1",
        "NVIDIA's management library, as a name that the system's loader finds or as a path.",
        text,
    ),
    Setting(
        "gpus",
        "host_label",
        "Hostname",
        "The label of DCGM_* series that names the node: Hostname, or hostname as newer exporters spell it.",
        one_of("Hostname", "hostname"),
    ),
)
