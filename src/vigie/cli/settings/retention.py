"""How long the server keeps what it stores."""

from __future__ import annotations

from vigie.cli.settings.server import COMMANDS
from vigie.common.config import Setting, number

DAYS = number(0.01, 36500, "days")
SETTINGS = (
    Setting("retention", "raw_days", 15.0, "Raw retention, days.", DAYS, COMMANDS),
    Setting("retention", "rollup_5m_days", 90.0, "Retention of 5-minute rollups, days.", DAYS, COMMANDS),
    Setting("retention", "rollup_1h_days", 730.0, "Retention of 1-hour rollups, days.", DAYS, COMMANDS),
    Setting("retention", "events_days", 90.0, "Retention of events, days.", DAYS, COMMANDS),
    Setting(
        "retention", "bindings_days", 90.0, "Retention of ended bindings and jobs, days.", DAYS, COMMANDS
    ),
    Setting("retention", "traces_days", 30.0, "Retention of traces, days.", DAYS, COMMANDS),
    Setting(
        "retention",
        "traces_gigabytes",
        20.0,
        "Maximum disk use of traces, oldest deleted first.",
        number(0.01, 1e6),
        COMMANDS,
    ),
    Setting(
        "retention",
        "store_gigabytes",
        0.0,
        "Maximum disk use of the store, oldest deleted first. 0: a fifth of the file system.",
        number(0, 1e6),
        COMMANDS,
    ),
)
