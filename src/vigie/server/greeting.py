"""What a server tells the person who started it: where it is, and secrets, to a terminal only."""

from __future__ import annotations

import re
import socket
import sys
from typing import TextIO

from vigie.server.access.secrets import ADMIN, Secrets

EVERYWHERE = re.compile(r"//(0\.0\.0\.0|\[::\]):")  # where one listens, and nobody is found


def greeting(secrets: Secrets, address: str) -> str:
    """Return what is said once: the password that was made just now, and a link that signs in."""
    where = EVERYWHERE.sub(f"//{socket.gethostname()}:", address)
    link = f"sign in once, within ten minutes: {where}/login?once={secrets.sessions.link(ADMIN)}"
    if secrets.first_password:
        return f"the password of {ADMIN}, shown now and never again: {secrets.first_password}\n{link}"
    return link


def greet(secrets: Secrets, address: str, terminal: TextIO | None = None) -> None:
    """Say it to a terminal; a log is read by others and kept for long."""
    terminal = terminal or sys.stderr
    if terminal.isatty():
        print(greeting(secrets, address), file=terminal, flush=True)


def advice(secrets: Secrets) -> str:
    """Return what the log says about getting in."""
    file = secrets.admin_file
    said = f"beyond loopback and for changes: Authorization: Bearer with the token in {file}"
    if not secrets.first_password:
        return said
    return f"{said}; to set the password of {ADMIN}: vigie users passwd {ADMIN} --data {file.parent}"
