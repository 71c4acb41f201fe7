"""Requests that are passed on to an engine elsewhere stay within its API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.asgi import call
from tests.server.known import known_secrets
from vigie.server.app import build_remote
from vigie.server.auth.authenticator import Authenticator
from vigie.server.metrics import ServerMetrics


class Elsewhere:
    """An engine that answers everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def forward(self, _method: str, path: str, *_: Any) -> tuple[int, str, bytes]:
        self.asked.append(path)
        return 200, "application/json", b"{}"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/label/job/values", 200),
        ("/api/v1/label/U__a_2e__2e_b/values", 200),
        ("/api/v1/label/a..b/values", 200),
        ("/api/v1/label/a%0Ab/values", 200),
        ("/api/v1/label/../../../other/api/v1/label/job/values", 400),
        ("/api/v1/label/./values", 400),
    ],
)
def test_path_does_not_lead_out_of_the_api(path: str, status: int) -> None:
    engine: Any = Elsewhere()
    with known_secrets("a-token") as secrets:
        app = build_remote(
            engine, None, ServerMetrics(lambda: (0, 0, 0, 0), lambda: 0), Authenticator(secrets)
        )
        assert call(app, "GET", path).status == status
    assert engine.asked == ([path] if status == 200 else [])
