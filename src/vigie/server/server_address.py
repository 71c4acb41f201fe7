"""Where the server of a data directory listens, left there for commands on the same machine.

Its port may be another than the one that was asked for, and its certificate one that nobody else signed.
"""

from __future__ import annotations

import json
import os
import ssl
from pathlib import Path
from typing import NamedTuple

FILE = "server-address"


class ServerAddress(NamedTuple):
    """How a server is reached from its own machine, where it listens, and the file of its certificate."""

    url: str
    listen: str = ""
    certificate: str = ""

    def context(self) -> ssl.SSLContext | None:
        """Return what trusts its certificate alone, under whatever name; nothing without TLS."""
        if not self.certificate:
            return None
        from vigie.server.http.tls import read_certificate  # only when used

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=read_certificate(Path(self.certificate)))
        return context


def write_address(data: Path, here: ServerAddress) -> None:
    """Write it, whole or not at all."""
    partial = data / f".{FILE}.{os.getpid()}"
    partial.write_text(json.dumps(here._asdict()) + "\n")
    partial.replace(data / FILE)


def read_address(data: Path) -> ServerAddress | None:
    """Return what the server that ran last on the directory left, if that can be read."""
    try:
        return ServerAddress(**json.loads((data / FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None
