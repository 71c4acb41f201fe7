"""All of a server but its socket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.server.known import known_secrets
from tests.server.serving import TOKEN
from vigie.query.limits import QueryLimits
from vigie.server.http.request_log import Traffic
from vigie.server.maintenance import RetentionConfig
from vigie.server.services import ServerConfig, Services, build_services


@contextlib.contextmanager
def whole(data: Path) -> Iterator[Services]:
    """Give all parts of a server; within an event loop."""
    with known_secrets(TOKEN) as secrets, contextlib.ExitStack() as opened:
        config = ServerConfig("127.0.0.1:0", data, QueryLimits(), RetentionConfig(), {})
        yield build_services(config, secrets, opened, Traffic())
