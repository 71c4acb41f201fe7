"""Settings of GPUs."""

from __future__ import annotations

from vigie.cli.settings.agent import COMMANDS
from vigie.common.config import Setting, one_of, text

SETTINGS = (
    Setting(
        "gpus",
        "nvml_library",
        "libnvidia-ml.so.1",
        "NVIDIA's management library, a name for the loader or a path.",
        text,
        COMMANDS,
    ),
    Setting(
        "gpus",
        "host_label",
        "Hostname",
        "Label of DCGM_* series that names the node: Hostname, or hostname as in newer exporters.",
        one_of("Hostname", "hostname"),
        COMMANDS,
    ),
)
