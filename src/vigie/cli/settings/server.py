"""Settings of the server."""

from __future__ import annotations

from vigie.common.config import Setting, address, number, one_of, seconds, text, url
from vigie.common.logs import FORMS, LEVELS

COMMANDS = ("server", "up", "demo")
SETTINGS = (
    Setting(
        "server",
        "listen",
        "127.0.0.1:8000",
        "Listen address. Port 0 takes a free one; if the port is in use, the next free one is taken. "
        "Beyond loopback every request needs the token of the data directory.",
        address,
        COMMANDS,
    ),
    Setting(
        "server",
        "data",
        "",
        "Data directory. Empty: /var/lib/vigie as root, else $XDG_DATA_HOME/vigie.",
        text,
        (*COMMANDS, "users"),
    ),
    Setting(
        "server",
        "store",
        "",
        "URL of a Prometheus-compatible engine to read from instead of the embedded store, such as "
        "http://127.0.0.1:9090.",
        url,
        COMMANDS,
    ),
    Setting(
        "server",
        "store_write",
        "",
        "URL that remote write is forwarded to when server.store is set, such as "
        "http://127.0.0.1:9090/api/v1/write.",
        url,
        COMMANDS,
    ),
    Setting("server", "query_timeout", 120.0, "Query timeout, seconds.", seconds(0.1, 3600), COMMANDS),
    Setting(
        "server", "query_samples", 50e6, "Maximum samples of a query in memory.", number(1, 1e12), COMMANDS
    ),
    Setting(
        "server", "query_points", 11000.0, "Maximum points per series of a result.", number(1, 1e7), COMMANDS
    ),
    Setting("server", "log_level", "info", "Log level of the server.", one_of(*LEVELS), COMMANDS),
    Setting(
        "server",
        "log_format",
        "text",
        "Log format of the server: text or JSON Lines.",
        one_of(*FORMS),
        COMMANDS,
    ),
    Setting(
        "server",
        "access_log",
        "changes",
        "Which requests are logged: `changes` (those that change something, were refused or failed), `all` "
        "(but successful health checks and /metrics) or `off`.",
        one_of("changes", "all", "off"),
        COMMANDS,
    ),
)
