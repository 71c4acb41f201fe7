"""Tells systemd how the agent is doing, when systemd asked to be told."""

from __future__ import annotations

import os
import socket


def notify(state: str) -> None:
    """Send a state such as READY=1 to the service manager; nothing happens without one."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.settimeout(1.0)
        try:
            channel.sendto(state.encode(), address)
        except OSError:
            pass  # a manager that went away must not take the agent with it
