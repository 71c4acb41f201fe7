"""All of a server but its socket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.server.known import known_secrets
from tests.server.serving import TOKEN
from vigie.query.limits import QueryLimits
from vigie.server.api.health import Readiness
from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.middleware import AuthMiddleware
from vigie.server.http.request_log import Traffic
from vigie.server.maintenance import RetentionConfig
from vigie.server.run import ServerConfig, application


@contextlib.contextmanager
def whole(data: Path) -> Iterator[tuple[AuthMiddleware, Authenticator, Readiness]]:
    """Give the application of a server, who may call it, and what makes it ready; within an event loop."""
    with known_secrets(TOKEN) as secrets, contextlib.ExitStack() as opened:
        callers, readiness = Authenticator(secrets), Readiness()
        plan = ServerConfig("127.0.0.1:0", data, QueryLimits(), RetentionConfig(), {})
        yield application(plan, callers, opened, Traffic(), readiness), callers, readiness
