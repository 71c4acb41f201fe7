"""Requests of commands to the local agent, over its Unix socket, without a token."""

from __future__ import annotations

import argparse
import http.client
import os
import socket
from pathlib import Path

from vigie.cli.settings import flags

SECONDS = 130.0  # a little more than a query may take


class NoAgentError(Exception):
    """No agent responds on this machine; the message says where it was looked for."""


def request(places: list[Path], target: str, seconds: float = SECONDS) -> tuple[int, bytes]:
    """Return status and body of the response of the first agent that is there."""
    for place in places:
        client = _Client(place, seconds)
        try:
            client.request("GET", target)
            answer = client.getresponse()
            return answer.status, answer.read()
        except (FileNotFoundError, ConnectionRefusedError):
            continue
        except (OSError, http.client.HTTPException) as error:
            raise NoAgentError(f"{place}: {error}") from None
        finally:
            client.close()
    where = f"at {' or '.join(map(str, places))}" if places else "here: the socket is off (agent.socket)"
    raise NoAgentError(f"no agent responds {where}")


def is_there(places: list[Path]) -> bool:
    """Tell whether an agent responds; one that was killed leaves a dead socket."""
    return any(map(_accepts, places))


def places(arguments: argparse.Namespace) -> list[Path]:
    """Return where an agent may listen: from the environment or --data, else the default places."""
    if given := os.environ.get("VIGIE_AGENT_SOCKET"):
        return [] if given == "off" else [Path(given)]
    if arguments.data:
        return [Path(arguments.data) / "agent.sock"]
    return [flags.RUN / "agent.sock", flags.default_data() / "agent.sock"]


def _accepts(place: Path) -> bool:
    client = _Client(place, SECONDS)
    try:
        client.connect()
    except OSError:
        return False
    finally:
        client.close()
    return True


class _Client(http.client.HTTPConnection):
    """An HTTP client over a Unix socket."""

    def __init__(self, place: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._place = place

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._place))
