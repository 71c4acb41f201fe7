"""An agent without a server pays nothing for links; one with a server stays free of the server's parts."""

from __future__ import annotations

import subprocess
import sys

ONCE = "from vigie.cli import main; main(['agent', '--once', '--sources=loadavg'])"
CHECK = "import sys; {code}; print([name for name in {names!r} if name in sys.modules])"


def imported(code: str, *names: str) -> str:
    command = [sys.executable, "-c", CHECK.format(code=code, names=names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()[-1]


def test_agent_without_a_server_imports_nothing_of_links() -> None:
    assert imported(ONCE, "websockets", "msgspec", "vigie.agent.link.client") == "[]"


def test_link_brings_no_numpy_and_nothing_of_the_server() -> None:
    assert (
        imported("import vigie.cli._link_options", "numpy", "starlette", "uvicorn", "sqlite3", "vigie.server")
        == "[]"
    )
