"""Settings of the exporters that an agent relays."""

from __future__ import annotations

from typing import Any

from vigie.agent.exporters.catalog import DEFAULT_EXPORTERS, parse_exporters
from vigie.common.config import Setting, switch, words


def _look_for(value: Any) -> list[str]:
    entries = words(value)
    parse_exporters(entries)
    return entries


SETTINGS = (
    Setting(
        "exporters",
        "relay",
        True,
        "Relay other exporters of this node (127.0.0.1 only) to the servers of [link], each as its own job.",
        switch,
    ),
    Setting(
        "exporters",
        "look_for",
        DEFAULT_EXPORTERS,
        "Exporters to look for, with their ports.",
        _look_for,
    ),
)
