"""The settings of other exporters' names and ports."""

from __future__ import annotations

from typing import Any

from vigie.agent.dialects.catalog import NEEDED_SOURCES
from vigie.agent.http.exporter_ports import EXPORTER_PORTS
from vigie.cli.settings.agent import COMMANDS
from vigie.common.config import Setting, words


def _dialects(value: Any) -> list[str]:
    for word in words(value):
        if word not in NEEDED_SOURCES:
            raise ValueError(f"use some of {', '.join(NEEDED_SOURCES)}")
    return words(value)


def _ports(value: Any) -> list[int]:
    if value in ("off", []):
        return []
    if value == "on":
        return [exporter.port for exporter in EXPORTER_PORTS]
    given = [str(word) for word in value] if isinstance(value, list) else words(value)
    if len(given) != len(EXPORTER_PORTS) or not all(
        word.isdecimal() and 0 < int(word) < 65536 for word in given
    ):
        raise ValueError("use on, off, or three ports such as 9100,9400,8080")
    return [int(word) for word in given]


SETTINGS = (
    Setting(
        "agent",
        "dialects",
        [],
        "Also report series under other exporters' names: `moneo` (dcgm_*, rdc_*, ib_port_* and node_* with "
        "job_id and gpu_id), `dcgm-exporter` (DCGM_EXP_* and DCGM_FI_DEV_CLOCK_THROTTLE_REASONS).",
        _dialects,
        COMMANDS,
    ),
    Setting(
        "agent",
        "exporter_ports",
        [],
        "`on`: also listen on the ports of node exporter (9100), dcgm-exporter (9400), Slurm exporter and "
        "cAdvisor (8080), each with only its names. Or three other ports. "
        "Address and access are those of agent.listen.",
        _ports,
        ("agent",),
    ),
)
