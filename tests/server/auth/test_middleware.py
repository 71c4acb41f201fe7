"""Every route and everybody: who may, and who may not, from here and from elsewhere."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from tests.server.asgi import Answer, call
from tests.server.known import known_secrets
from tests.server.route_table import TABLE, stand_in
from tests.server.serving import TOKEN, Direct
from vigie.query.limits import QueryLimits
from vigie.server import app
from vigie.server.app import build_remote
from vigie.server.auth.authenticator import Authenticator, AuthPolicy
from vigie.server.auth.middleware import with_auth
from vigie.server.auth.secrets import Secrets
from vigie.server.http.requests import identity_of
from vigie.server.http.routes import Operation, SocketRoute
from vigie.server.identity import Identity
from vigie.server.metrics import ServerMetrics

OPEN = {"/healthz", "/readyz", "/login", "POST /api/login"}
SIGNING = {"/login", "/api/login", "/api/logout", "/api/session"}
RESTRICTED = {
    "POST /api/v1/write",
    "POST /add_node",
    "POST /remove_node",
    "/link",
    "POST /api/nodes/{name}",
    "DELETE /api/nodes/{name}",
    "POST /api/nodes/{name}/gpus/{do}",
}
# Traces and stacks show what runs inside a job.
OF_USERS = {
    row for row in TABLE if row.rpartition(" ")[2].startswith(("/api/trace", "/api/trainers", "/api/stacks"))
}
# Who may what, said once more in other words than the table's.
MAY: dict[str, Callable[[str], bool]] = {
    "viewer": lambda row: row not in RESTRICTED | OF_USERS,
    "user": lambda row: row not in RESTRICTED,
    "admin": lambda row: row != "/link",
    "writer": lambda row: row == "POST /api/v1/write" or row in OPEN,
    "node": lambda row: row == "/link" or row in OPEN,
    "join": lambda row: row in {"/link", "POST /add_node"} | OPEN,
    "nobody here": lambda row: row not in RESTRICTED | OF_USERS,
    "nobody elsewhere": lambda row: row in OPEN,
    "a liar": lambda row: row in OPEN,
}


async def _say(request: Request) -> Response:
    return PlainTextResponse(str(request.scope.get("vigie.identity")))


async def _accept(socket: WebSocket) -> None:
    await socket.accept()


def _routes() -> list[BaseRoute]:
    """Return a route for each row of the table that signing in does not bring."""
    link = SocketRoute("/link", _accept, TABLE["/link"], Operation("A stand-in.", str))
    others = [row for row in TABLE if row.rpartition(" ")[2] not in SIGNING | {"/link"}]
    return [link, *(stand_in(row, _say) for row in others)]


@pytest.fixture(scope="module")
def secrets() -> Iterator[Secrets]:
    with known_secrets(TOKEN) as made:
        for role in ("viewer", "user", "writer"):
            made.accounts.add(role, role)
        yield made


@pytest.fixture(scope="module")
def shown(secrets: Secrets) -> dict[str, dict[str, str]]:
    """Return the headers of everybody."""
    tokens = {role: secrets.accounts.new_token(role) for role in ("viewer", "user", "writer")}
    tokens |= {
        "admin": TOKEN,
        "node": secrets.new_node_key("n1"),
        "join": secrets.join_token,
        "a liar": "lie",
    }
    headers = {who: {"Authorization": f"Bearer {token}"} for who, token in tokens.items()}
    return {**headers, "nobody here": {}, "nobody elsewhere": {"X-Forwarded-For": "10.0.0.1"}}


@pytest.fixture(scope="module")
def everything(secrets: Secrets) -> ASGIApp:
    return with_auth(_routes(), Authenticator(secrets))


def _called(application: ASGIApp, row: str, headers: dict[str, str], **how: Any) -> Answer:
    method, _, path = row.rpartition(" ")
    path = path.replace("{name:text}", "job").replace("{name}", "n1")
    return call(application, "WEBSOCKET" if path == "/link" else method or "GET", path, headers, **how)


@pytest.mark.parametrize("who", MAY)
def test_every_route_is_for_whom_it_should_be(
    everything: ASGIApp, shown: dict[str, dict[str, str]], who: str
) -> None:
    refusal = 401 if who in ("nobody here", "nobody elsewhere", "a liar") else 403
    statuses = {row: _called(everything, row, shown[who]).status for row in TABLE}
    refused = {row: status for row, status in statuses.items() if status in (401, 403)}
    bad_sign_in = {"POST /api/login": 400}  # nothing was typed
    assert refused == {row: refusal for row in TABLE if not MAY[who](row)}
    assert {row: statuses[row] for row in bad_sign_in} == bad_sign_in


@pytest.mark.parametrize(
    "how",
    [
        {"client": "10.0.0.1"},
        {"client": "2001:db8::1"},
        {"client": None},
        {"version": "1.0"},
        {"headers": {"Host": "vigie.example"}},
        {"headers": [("Host", "127.0.0.1"), ("Host", "evil.example")]},
        {"headers": {"Via": "1.1 proxy"}},
        {"headers": {"X-Real-IP": "10.0.0.1"}},
    ],
    ids=str,
)
def test_nobody_sees_anything_from_elsewhere_or_through_a_proxy(
    everything: ASGIApp, how: dict[str, Any]
) -> None:
    given = {"headers": {}, **how}
    assert {row for row in TABLE if _called(everything, row, **given).status != 401} == OPEN


def test_routes_of_the_server_all_have_a_row_and_want_credentials(secrets: Secrets) -> None:
    async def nothing(*_: Any) -> Any:
        raise AssertionError("nobody was let in")

    own, callers = ServerMetrics(lambda: (0, 0, 0, 0), lambda: 0), Authenticator(secrets)
    asks: Any = Direct(None, QueryLimits())  # type: ignore[arg-type]
    elsewhere: Any = type("", (), {"forward": nothing})()
    for application in (
        app.build(app.AppParts(asks, nothing, own, callers)),
        build_remote(elsewhere, None, own, callers),
    ):
        for row in TABLE:
            status = _called(application, row, {"Forwarded": "for=10.0.0.1"}).status
            assert status == 401 or row in OPEN


def test_route_without_a_declaration_is_an_error(secrets: Secrets) -> None:
    with pytest.raises(TypeError, match=r"/secret.*says neither who may"):
        with_auth([Route("/secret", _say)], Authenticator(secrets))


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/write/",
        "//api/v1/write",
        "/api/v1/../v1/write",
        "/API/v1/write",
        "/add_node/",
        "/healthz/../add_node",
    ],
)
def test_other_spelling_of_a_path_reaches_nothing(
    everything: ASGIApp, shown: dict[str, dict[str, str]], path: str
) -> None:
    assert call(everything, "POST", path, shown["nobody elsewhere"]).status == 401
    assert call(everything, "POST", path).status in (307, 404)  # redirected, it is asked again


def test_rule_is_that_of_the_route_which_takes_the_request(secrets: Secrets) -> None:
    both = [stand_in("/api/nodes/{name}", _say), stand_in("DELETE /api/nodes/{name}", _say)]
    application = with_auth(both, Authenticator(secrets))
    assert call(application, "GET", "/api/nodes/n1").status == 200
    assert call(application, "DELETE", "/api/nodes/n1").status == 401


def test_method_that_a_route_does_not_take_is_refused_before_it_is_told(
    everything: ASGIApp, shown: dict[str, dict[str, str]]
) -> None:
    assert call(everything, "DELETE", "/metrics", shown["nobody elsewhere"]).status == 401
    assert call(everything, "DELETE", "/metrics").status == 405


def test_route_learns_who_is_calling(everything: ASGIApp, shown: dict[str, dict[str, str]]) -> None:
    user = call(everything, "GET", "/api/session", shown["user"]).json
    assert (user["role"], user["name"], user["home"]) == ("user", "user", "user/user")
    nobody = call(everything, "GET", "/api/session").json
    assert (nobody["role"], nobody["name"], nobody["home"]) == ("viewer", "", "")
    assert call(everything, "GET", "/metrics", shown["admin"]).body.decode() == str(
        Identity("admin", "admin")
    )


def test_always_refuses_this_machine_too_and_open_lets_anybody_view(secrets: Secrets) -> None:
    always = with_auth(_routes(), Authenticator(secrets, AuthPolicy("always")))
    anybody = with_auth(_routes(), Authenticator(secrets, AuthPolicy("open")))
    for row in TABLE:
        assert (_called(always, row, {}).status == 401) == (row not in OPEN)
        assert (_called(anybody, row, {}, client="10.0.0.1").status == 401) == (row in RESTRICTED | OF_USERS)


def test_configured_name_may_be_viewed_on_this_machine_only(secrets: Secrets) -> None:
    named = with_auth(_routes(), Authenticator(secrets, AuthPolicy(names=("vigie.example",))))
    assert call(named, "GET", "/metrics", {"Host": "Vigie.Example:8000"}).status == 200
    assert call(named, "GET", "/metrics", {"Host": "vigie.example"}, client="10.0.0.1").status == 401
    assert call(named, "GET", "/metrics", {"Host": "evil.vigie.example"}).status == 401


@pytest.fixture(scope="module")
def behind(secrets: Secrets) -> ASGIApp:
    """Return an application behind two networks of proxies."""
    networks = (ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00::/64"))
    return with_auth(_routes(), Authenticator(secrets, AuthPolicy("loopback", (), networks, "X-Remote-User")))


@pytest.mark.parametrize("client", ["10.1.2.3", "fd00::1"])
def test_listed_proxy_is_believed_about_who_has_signed_in(behind: ASGIApp, client: str) -> None:
    def who(name: str) -> Any:
        said = call(behind, "GET", "/api/session", {"X-Remote-User": name}, client=client).json
        return said["role"], said["name"]

    assert who("user") == ("user", "user")
    assert who("somebody") == ("viewer", "somebody")


@pytest.mark.parametrize("client", ["10.2.0.1", "127.0.0.1", "fd00:0:0:1::1", None])
def test_nobody_but_a_listed_proxy_is_believed(behind: ASGIApp, client: str | None) -> None:
    headers = {"X-Remote-User": "admin", "X-Forwarded-For": "10.1.2.3", "Origin": "http://127.0.0.1:8000"}
    assert call(behind, "POST", "/add_node", headers, client=client).status == 401


@pytest.mark.parametrize("names", [[], ["", ""], ["user", "admin"]])
def test_no_name_or_two_names_from_a_proxy_are_none(behind: ASGIApp, names: list[str]) -> None:
    headers = [("X-Remote-User", name) for name in names]
    assert call(behind, "GET", "/metrics", headers, client="10.1.2.3").status == 401


def test_admin_behind_a_proxy_changes_something_only_from_a_page_of_ours(behind: ASGIApp) -> None:
    headers = {"X-Remote-User": "admin", "Host": "vigie.example", "X-Forwarded-Proto": "https"}
    for origin, status in ((None, 403), ("https://evil.example", 403), ("https://vigie.example", 200)):
        given = {**headers, **({"Origin": origin} if origin else {})}
        assert call(behind, "POST", "/add_node", given, client="10.1.2.3").status == status


def test_identity_is_there_for_the_handlers_only_after_admission(everything: ASGIApp) -> None:
    assert call(everything, "GET", "/healthz").body == b"None"
    assert identity_of(Request({"type": "http", "vigie.identity": Identity("node", "n1")})).name == "n1"
