"""The settings of the exporters that an agent finds on its own node."""

from __future__ import annotations

from typing import Any

from vigie.agent.exporters.catalog import DEFAULT_EXPORTERS, parse_exporters
from vigie.common.config import Setting, switch, words


def _look_for(value: Any) -> list[str]:
    entries = words(value)
    parse_exporters(entries)
    return entries


EXPORTERS = (
    Setting(
        "exporters",
        "relay",
        True,
        "Find other exporters on this node, and send what they say to the servers of [link] under a job of "
        "their own. Only 127.0.0.1 is looked at.",
        switch,
    ),
    Setting(
        "exporters",
        "look_for",
        DEFAULT_EXPORTERS,
        "Which exporters are looked for, and on which port each.",
        _look_for,
    ),
)
