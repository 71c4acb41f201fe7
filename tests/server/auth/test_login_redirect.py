"""A sign-in leads to what was asked for, below any prefix, and never to another server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from tests.server.asgi import Answer, call
from tests.server.known import known_secrets
from tests.server.route_table import stand_in
from tests.server.serving import TOKEN
from vigie.server.auth.authenticator import Authenticator, AuthPolicy
from vigie.server.auth.login import MAX_ADDRESS, check_return_path
from vigie.server.auth.middleware import with_auth
from vigie.server.auth.secrets import Secrets

PASSWORD = "correct horse"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PREFIX = "http://here/some/where/"


async def _say(_: Request) -> Response:
    return PlainTextResponse("done")


@pytest.fixture(scope="module")
def secrets() -> Iterator[Secrets]:
    with known_secrets(TOKEN) as made:
        made.accounts.set_password("admin", PASSWORD)
        yield made


@pytest.fixture(scope="module")
def app(secrets: Secrets) -> ASGIApp:
    return with_auth([stand_in("/job/{id:text}", _say)], Authenticator(secrets, AuthPolicy(auth="always")))


def way_of(answer: Answer) -> str:
    """Return where the form of a sign-in page wants to go."""
    found = re.search(r'name="next" value="([^"]*)"', answer.body.decode())
    return unescape(found[1]) if found else ""


def sign_in(app: ASGIApp, then: str, password: str = PASSWORD) -> Answer:
    body = urlencode({"name": "admin", "password": password, "next": then}).encode()
    return call(app, "POST", "/api/login", FORM, body)


@pytest.mark.parametrize(
    "asked",
    ["job/4711", "job/a%2Fb?at=17&tab=events", 'job/1?query=up%7Bjob="x"%7D', "job/1?query=rate(a[5m]){}|^"],
)
def test_sign_in_leads_to_what_was_asked_for_below_any_prefix(app: ASGIApp, asked: str) -> None:
    page = call(app, "GET", f"/{asked}", {"Accept": "text/html"})
    assert (page.status, way_of(page)) == (401, asked)
    again = sign_in(app, way_of(page), "a wrong one")
    assert (again.status, way_of(again)) == (401, asked), "a slip of the finger does not lose it"
    signed = sign_in(app, way_of(again))
    assert signed.status == 303
    to = urljoin(f"{PREFIX}api/login", signed.header("location"))
    assert unquoted(to) == unquoted(f"{PREFIX}{asked}")


def unquoted(address: str) -> str:
    """Return an address with what a redirect writes in full as browsers write it."""
    for plain in '"[]{}|^':
        address = address.replace(f"%{ord(plain):02X}", plain)
    return address


def test_link_that_signs_in_leads_on_too(app: ASGIApp, secrets: Secrets) -> None:
    link = f"/login?once={secrets.sessions.link('admin')}&next=job/1"
    assert call(app, "GET", link).header("location") == "./job/1"


def test_who_chose_to_sign_in_goes_back_to_the_page_he_came_from(app: ASGIApp) -> None:
    assert way_of(call(app, "GET", "/login?next=job/1%3Fat%3D2")) == "job/1?at=2"
    assert way_of(call(app, "GET", "/login?next=//evil.example")) == ""
    assert way_of(call(app, "GET", "/login")) == ""


FOREIGN = [
    "//evil.example", "/evil.example", "/\\evil.example", "\\\\evil.example", "../other", "job/../../other",
    "job/%2e%2e/%2E%2E/other", "..%2fother", "./x", "job/1\r\nSet-Cookie: a=b", "job/\t1", "job/1#x", "é",
    "login", "login?once=x", "x" * (MAX_ADDRESS + 1),
]  # fmt: skip


@pytest.mark.parametrize("then", FOREIGN)
def test_address_that_might_lead_elsewhere_leads_to_the_start(app: ASGIApp, then: str) -> None:
    assert sign_in(app, then).header("location") == "../"


@given(st.text(max_size=40) | st.text("./\\%2eEfF:?#@x", max_size=20))
def test_no_address_leads_to_another_server_or_out_of_the_prefix(then: str) -> None:
    to = urlsplit(urljoin(f"{PREFIX}api/login", f"../{check_return_path(then)}"))
    assert (to.scheme, to.netloc) == ("http", "here")
    assert f"{to.path}/".startswith("/some/where/")
