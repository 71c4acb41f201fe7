"""Settings of traces and stacks on a node."""

from __future__ import annotations

from vigie.cli.settings.agent import COMMANDS
from vigie.common.config import Setting, one_of, text, words

SETTINGS = (
    Setting(
        "trace",
        "serve",
        "on",
        "Serve PyTorch processes started with KINETO_USE_DAEMON=1, where no dynolog does: on or off.",
        one_of("on", "off"),
    ),
    Setting(
        "trace",
        "socket_dirs",
        [],
        "Directories for trainers in containers (KINETO_IPC_SOCKET_DIR), mounted there at the same path.",
        words,
    ),
    Setting(
        "trace",
        "dyno_rpc",
        "",
        "Answer dynolog's calls on this address, such as 127.0.0.1:1778. They have no authentication: "
        "on loopback each user may trace their own processes, beyond it anybody may trace all. Empty: off.",
        text,
        COMMANDS,
    ),
)
