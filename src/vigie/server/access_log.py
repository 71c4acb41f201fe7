"""The access log: who asked for what, and what became of it; never with a query, which may hold secrets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from starlette.types import Scope

from vigie.logs import FIELDS, plain
from vigie.server.access.callers import IDENTITY
from vigie.server.access.roles import ROUTE, rule_of

log = logging.getLogger("vigie.access")

QUIET = ("/healthz", "/readyz", "/-/healthy", "/-/ready", "/metrics")  # asked for all the time
REFUSED = (401, 403, 429)
MOST = 100  # lines a second: somebody who knocks must not fill the disk
LONGEST = 300  # letters of a path


class Request(NamedTuple):
    """A request that was answered."""

    scope: Scope
    status: int
    size: int
    seconds: float

    @property
    def method(self) -> str:
        """Return its method; a link has none of its own."""
        return str(self.scope.get("method", "WEBSOCKET"))

    @property
    def matters(self) -> bool:
        """Tell whether it changes something, was refused or failed."""
        if self.status in REFUSED or self.status >= 500:
            return True
        route = self.scope.get(ROUTE)
        return route is not None and rule_of(self.method, route).changes


class AccessLog:
    """Logs requests: those that matter, or all."""

    def __init__(self, everything: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._everything, self._clock = everything, clock
        self._second, self._lines = 0, 0

    def note(self, request: Request) -> None:
        """Log a request if it is wanted and there is room."""
        wanted = self._everything and request.scope.get(ROUTE) not in QUIET
        if (wanted or request.matters) and log.isEnabledFor(logging.INFO) and self._room():
            _say(request)

    def _room(self) -> bool:
        second = int(self._clock())
        if second != self._second:
            if self._lines > MOST:
                log.warning("%d requests were not logged, as there were too many", self._lines - MOST)
            self._second, self._lines = second, 0
        self._lines += 1
        return self._lines <= MOST


def _say(request: Request) -> None:
    scope = request.scope
    who, client = _who(scope), scope.get("client") or ("-", 0)
    path = plain(scope["path"][:LONGEST])
    told = {
        "client": client[0],
        "who": who,
        "method": request.method,
        "path": path,
        "status": request.status,
        "bytes": request.size,
        "seconds": round(request.seconds, 6),
    }
    log.info("%s %s %s %s %d %d B %.3f s", *told.values(), extra={FIELDS: told})


def _who(scope: Scope) -> str:
    identity = scope.get(IDENTITY)
    if identity is None:
        return "-"
    return plain(identity.name) or f"({identity.role})"
