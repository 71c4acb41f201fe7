"""Signing in: sessions, links, pages of other servers, and guessing."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from tests.server.asgi import Answer, call
from tests.server.known import known_secrets
from tests.server.route_table import stand_in
from tests.server.serving import TOKEN
from vigie.model import Event, format_series
from vigie.server.auth.authenticator import AT_ONCE, COOKIE, Authenticator, AuthPolicy
from vigie.server.auth.errors import AuthError
from vigie.server.auth.login_throttle import OF_AN_ADDRESS, LoginThrottle
from vigie.server.auth.middleware import with_auth
from vigie.server.auth.secrets import Secrets
from vigie.server.auth.secrets_file import SecretsFile

PASSWORD = "correct horse"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HERE = {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"}
PROXY = (ipaddress.ip_network("10.1.0.1"),)


async def _say(_: Request) -> Response:
    return PlainTextResponse("done")


def _application(callers: Authenticator) -> ASGIApp:
    return with_auth([stand_in("/metrics", _say), stand_in("POST /add_node", _say)], callers)


@pytest.fixture(scope="module")
def secrets() -> Iterator[Secrets]:
    with known_secrets(TOKEN) as made:
        made.accounts.set_password("admin", PASSWORD)
        made.accounts.add("grafana", "viewer", PASSWORD)
        yield made


@pytest.fixture(scope="module")
def app(secrets: Secrets) -> ASGIApp:
    return _application(Authenticator(secrets))


@pytest.fixture
def fresh(secrets: Secrets) -> ASGIApp:
    """Return an application that has seen no failures, behind a proxy."""
    return _application(Authenticator(secrets, AuthPolicy("loopback", (), PROXY, "")))


def _sign_in(app: ASGIApp, name: str = "admin", password: str = PASSWORD, **how: Any) -> Answer:
    return call(
        app, "POST", "/api/login", body=json.dumps({"name": name, "password": password}).encode(), **how
    )


def _cookie(answer: Answer) -> dict[str, str]:
    token = SimpleCookie(answer.header("set-cookie"))[COOKIE].value
    return {"Cookie": f"{COOKIE}={token}"}


def test_right_password_opens_a_session_that_is_ended_by_signing_out(app: ASGIApp) -> None:
    answer = _sign_in(app)
    assert (answer.status, answer.json) == (200, {"role": "admin", "name": "admin"})
    cookie = _cookie(answer)
    assert call(app, "GET", "/api/session", cookie, client="10.0.0.1").json["role"] == "admin"
    assert call(app, "POST", "/api/logout", {**cookie, **HERE}).status == 204
    assert call(app, "GET", "/api/session", cookie, client="10.0.0.1").status == 401


def test_session_outlives_a_restart(secrets: Secrets, app: ASGIApp) -> None:
    cookie = _cookie(_sign_in(app))
    again = Secrets(secrets.admin_file.parent)
    try:
        restarted = _application(Authenticator(again))
        assert call(restarted, "GET", "/api/session", cookie, client="10.0.0.1").json["name"] == "admin"
    finally:
        again.close()


@pytest.mark.parametrize(
    ("how", "secure"),
    [
        ({"scheme": "http"}, False),
        ({"scheme": "https"}, True),
        ({"client": "10.1.0.1", "headers": {"X-Forwarded-Proto": "https"}}, True),
        ({"client": "10.1.0.2", "headers": {"X-Forwarded-Proto": "https"}}, False),
    ],
)
def test_cookie_is_for_this_site_and_no_script_and_for_tls_where_that_is_spoken(
    fresh: ASGIApp, how: dict[str, Any], secure: bool
) -> None:
    words = {word.strip().lower() for word in _sign_in(fresh, **how).header("set-cookie").split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= words
    assert ("secure" in words) == secure
    assert not any(word.startswith("domain") for word in words)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),  # nothing says that it is from a page of ours
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:9000"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8000"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 200),
    ],
)
def test_session_changes_something_only_from_a_page_of_ours(
    app: ASGIApp, secrets: Secrets, headers: dict[str, str], status: int
) -> None:
    cookie = {"Cookie": f"{COOKIE}={secrets.sessions.open('admin')}"}
    assert call(app, "POST", "/add_node", {**cookie, **headers}).status == status
    assert call(app, "GET", "/metrics", {**cookie, **headers}).status == 200


def test_password_with_every_request_is_taken_and_treated_like_a_cookie(app: ASGIApp) -> None:
    def basic(name: str, password: str) -> dict[str, str]:
        return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}

    assert call(app, "GET", "/metrics", basic("grafana", PASSWORD), client="10.0.0.1").status == 200
    assert call(app, "GET", "/metrics", basic("grafana", "wrong password")).status == 401
    assert call(app, "POST", "/add_node", basic("grafana", PASSWORD)).status == 403
    assert call(app, "POST", "/add_node", basic("admin", PASSWORD)).status == 403
    assert call(app, "POST", "/add_node", {**basic("admin", PASSWORD), **HERE}).status == 200


@pytest.mark.parametrize(
    "given", ["Basic", "Basic !", "Basic YQ==", "Basic /////w==", "Digest x", "Bearer", "x"]
)
def test_garbled_credentials_are_none(app: ASGIApp, given: str) -> None:
    assert call(app, "GET", "/metrics", {"Authorization": given}).status == 401


@pytest.mark.parametrize("body", [b"[" * 8000, b'{"x":' * 1500, b"[]", b"\xff", b"", b'{"name": 1}'])
def test_garbled_sign_in_is_a_bad_request(app: ASGIApp, body: bytes) -> None:
    assert call(app, "POST", "/api/login", {"Content-Type": "application/json"}, body).status == 400


def test_guessing_is_stopped_for_one_client_and_not_for_another(fresh: ASGIApp) -> None:
    client = {"client": "10.0.0.1"}
    statuses = [_sign_in(fresh, "nobody", "wrong", **client).status for _ in range(OF_AN_ADDRESS + 1)]
    assert statuses == [401] * OF_AN_ADDRESS + [429]
    answer = _sign_in(fresh, "other", "right or wrong", **client)
    assert answer.status == 429
    assert 0 < int(answer.header("retry-after")) <= 301
    assert _sign_in(fresh, "grafana", client="10.0.0.2").status == 200


def test_flood_of_passwords_is_turned_away_and_leaves_threads_for_others(secrets: Secrets) -> None:
    callers = Authenticator(secrets, waiting=4)

    async def try_all() -> tuple[list[int], int]:
        def connection(number: int) -> HTTPConnection:
            return HTTPConnection({"type": "http", "client": (f"10.0.{number}.1", 1), "headers": []})

        tries = [callers.sign_in(connection(number), f"name{number}", "x") for number in range(9)]
        flood = asyncio.gather(*tries, return_exceptions=True)
        threads = await asyncio.to_thread(threading.active_count)
        return sorted(error.status for error in await flood if isinstance(error, AuthError)), threads

    before = threading.active_count()
    statuses, threads = asyncio.run(try_all())
    assert statuses == [401] * 4 + [429] * 5
    assert threads - before <= AT_ONCE + 1


def test_clients_behind_a_listed_proxy_are_told_apart(secrets: Secrets) -> None:
    throttle = LoginThrottle()
    app = _application(Authenticator(secrets, AuthPolicy("loopback", (), PROXY, ""), throttle))
    for _ in range(OF_AN_ADDRESS):
        throttle.tries("10.9.9.9", "nobody")
    guesser = {"X-Forwarded-For": "10.0.0.3, 10.9.9.9"}
    assert _sign_in(app, "nobody", client="10.1.0.1", headers=guesser).status == 429
    assert _sign_in(app, client="10.1.0.1", headers={"X-Forwarded-For": "10.9.9.9, 10.0.0.3"}).status == 200
    assert _sign_in(app, "nobody", "x", client="10.0.0.4", headers=guesser).status == 401


def test_link_signs_in_once(app: ASGIApp, secrets: Secrets) -> None:
    link = f"/login?once={secrets.sessions.link('admin')}"
    assert call(app, "HEAD", link, client="10.0.0.1").status == 200, "looking at it does not use it up"
    first = call(app, "GET", link, client="10.0.0.1")
    assert (first.status, first.header("location")) == (303, "./")
    assert first.header("referrer-policy") == "no-referrer"
    assert call(app, "GET", "/api/session", _cookie(first), client="10.0.0.1").json["role"] == "admin"
    second = call(app, "GET", link, client="10.0.0.1")
    assert second.status == 401
    assert b"used before" in second.body
    assert not second.header("set-cookie")


class Page(HTMLParser):
    """Finds what a page sends where, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[dict[str, str | None]] = []
        self.loads: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "form":
            self.forms.append(found)
        self.loads += [(tag, name) for name in found if name in ("src", "href", "onclick")]
        if tag in ("script", "link"):
            self.loads.append((tag, ""))


@pytest.mark.parametrize("path", ["/", "/login", "/metrics", "/api/v1/label/job/values"])
def test_browser_is_shown_a_page_whose_form_leads_to_signing_in_also_below_a_prefix(
    app: ASGIApp, path: str
) -> None:
    answer = call(app, "GET", path, {"Accept": "text/html,*/*"}, client="10.0.0.1")
    assert answer.status == (200 if path == "/login" else 401)
    page = Page(answer.body.decode())
    (form,) = page.forms
    assert urljoin(f"http://x/prefix{path}", form["action"]) == "http://x/prefix/api/login"
    assert page.loads == []
    assert "default-src 'none'" in answer.header("content-security-policy")


def test_form_signs_in_and_leads_to_the_start(app: ASGIApp) -> None:
    body = urlencode({"name": "admin", "password": PASSWORD}).encode()
    answer = call(app, "POST", "/api/login", FORM, body)
    assert (answer.status, urljoin("/prefix/api/login", answer.header("location"))) == (303, "/prefix/")
    assert _cookie(answer)


def test_wrong_form_is_shown_again_with_the_reason_and_not_with_what_was_typed(app: ASGIApp) -> None:
    body = urlencode({"name": "<b>admin", "password": "typed wrongly"}).encode()
    answer = call(app, "POST", "/api/login", FORM, body)
    assert answer.status == 401
    assert b"Name or password is wrong" in answer.body
    assert b"<b>" not in answer.body
    assert b"typed wrongly" not in answer.body


def test_page_of_another_server_cannot_sign_anybody_in(app: ASGIApp) -> None:
    body = urlencode({"name": "admin", "password": PASSWORD}).encode()
    answer = call(app, "POST", "/api/login", {**FORM, "Origin": "http://evil.example"}, body)
    assert (answer.status, answer.header("set-cookie")) == (403, "")


_ANY = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=50,
)
@given(st.binary(max_size=50) | _ANY | st.dictionaries(st.sampled_from(["name", "password"]), _ANY))
@pytest.mark.parametrize("headers", [FORM, {}], ids=["form", "json"])
def test_any_body_is_refused_and_nothing_breaks(app: ASGIApp, headers: dict[str, str], body: Any) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert call(app, "POST", "/api/login", headers, content).status in (400, 401, 429)


def test_endless_body_is_refused(app: ASGIApp) -> None:
    assert _sign_in(app, "admin", "x" * 10_000).status == 400


def test_secrets_that_cannot_be_read_are_no_open_door(tmp_path: Any) -> None:
    secrets = Secrets(tmp_path)
    app = _application(Authenticator(secrets))
    SecretsFile(tmp_path).write("DROP TABLE account")
    cookie = {"Cookie": f"{COOKIE}={secrets.sessions.open('admin')}"}
    assert call(app, "GET", "/metrics", cookie).status == 503
    secrets.close()


def test_sign_ins_are_counted_and_throttling_is_an_event_that_names_no_account(secrets: Secrets) -> None:
    told = list[Event]()
    callers = Authenticator(secrets, record_event=told.append)
    counted = _application(callers)
    for _ in range(OF_AN_ADDRESS):
        assert _sign_in(counted, "admin", "a wrong one").status == 401
    assert {_sign_in(counted, "nobody", "a wrong one").status for _ in range(3)} == {429}
    assert call(counted, "GET", "/metrics", {"Authorization": "Bearer lie"}).status == 401
    assert call(counted, "GET", "/login?once=lie").status == 401
    secrets.accounts.add("new", "viewer", PASSWORD)  # whose password is not remembered
    assert _sign_in(counted, "new", client="10.0.0.9").status == 200
    table, values = callers.counts()
    told_as = {format_series(*series): value for series, value in zip(table.series, values, strict=True)}
    assert told_as == {
        "vigie_server_sign_ins_total": 1,
        'vigie_server_sign_ins_failed_total{by="password"}': OF_AN_ADDRESS,
        'vigie_server_sign_ins_failed_total{by="token"}': 1,
        'vigie_server_sign_ins_failed_total{by="link"}': 1,
        "vigie_server_sign_ins_throttled_total": 3,
    }
    (event,) = told
    assert (event.kind, event.where, event.severity) == (
        "sign_in_throttled",
        {"address": "127.0.0.1"},
        "warning",
    )
    assert "nobody" not in event.what
    assert "admin" not in event.what
