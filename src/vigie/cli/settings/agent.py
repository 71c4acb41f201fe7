"""Settings of the agent."""

from __future__ import annotations

from vigie.common.config import Setting, address, one_of, seconds, text, words
from vigie.common.logs import FORMS, LEVELS

COMMANDS = ("agent", "config", "doctor")
SETTINGS = (
    Setting(
        "agent",
        "listen",
        "127.0.0.1:9797",
        "Listen address of /metrics, /status and /healthz. Port 0 takes a free one. "
        "Beyond loopback a scrape token is required, see agent.auth.",
        address,
        COMMANDS,
    ),
    Setting(
        "agent",
        "auth",
        "token",
        "Authentication beyond loopback: `token` (the scrape token in the data directory) or `none`.",
        one_of("token", "none"),
        COMMANDS,
    ),
    Setting(
        "agent",
        "data",
        "",
        "Data directory. Empty: /var/lib/vigie as root, else $XDG_DATA_HOME/vigie.",
        text,
        COMMANDS,
    ),
    Setting("agent", "node", "", "Name of this node. Empty: the host name.", text, COMMANDS),
    Setting("agent", "cadence", 10.0, "Seconds between reads of the fast sources.", seconds(1, 60), COMMANDS),
    Setting("agent", "sources", [], "Read only these sources. Empty: all defaults.", words, COMMANDS),
    Setting("agent", "no_sources", [], "Do not read these sources.", words, COMMANDS),
    Setting(
        "agent", "with_sources", [], "Also read these sources, which are off by default.", words, COMMANDS
    ),
    Setting(
        "agent", "source_dirs", [], "Directories with sources of your own, one per .py file.", words, COMMANDS
    ),
    Setting("agent", "procfs", "/proc", "Mount point of procfs.", text, COMMANDS),
    Setting("agent", "sysfs", "/sys", "Mount point of sysfs.", text, COMMANDS),
    Setting("agent", "rootfs", "/", "Mount point of the host's root file system.", text, COMMANDS),
    Setting(
        "agent",
        "socket",
        "",
        "Unix socket for commands on this machine, or `off`. Empty: agent.sock in the data directory, "
        "or in /run/vigie if that is /var/lib/vigie.",
        text,
        COMMANDS,
    ),
    Setting("agent", "log_level", "info", "Log level of the agent.", one_of(*LEVELS), COMMANDS),
    Setting(
        "agent",
        "log_format",
        "text",
        "Log format of the agent: text or JSON Lines.",
        one_of(*FORMS),
        COMMANDS,
    ),
)
