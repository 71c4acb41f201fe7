"""A slash too many leads to the right address, also below a prefix that the server knows nothing of."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.server.asgi import call
from vigie.server.http.routing import application


async def _say(_: Request) -> Response:
    return PlainTextResponse("done")


APP = application(
    [Route(path, _say) for path in ("/", "/jobs", "/node/{name}", "/api/v1/query", "/job/{id:path}")]
)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("/jobs/", "/jobs"),
        ("/jobs/?from=now-1h&to=now", "/jobs?from=now-1h&to=now"),
        ("/node/gpu%2003/", "/node/gpu%2003"),
        ("/api/v1/query/?query=up", "/api/v1/query?query=up"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "/some/where"])
def test_slash_too_many_is_taken_away_below_any_prefix(asked: str, meant: str, prefix: str) -> None:
    answer = call(APP, "GET", asked)
    assert answer.status == 307
    assert (
        urljoin(f"https://here{prefix}{asked}", answer.header("location")) == f"https://here{prefix}{meant}"
    )


@pytest.mark.parametrize("asked", ["/nothing/", "/nothing", "/jobs//", "//evil.example/"])
def test_what_is_nowhere_is_not_found(asked: str) -> None:
    assert call(APP, "GET", asked).status == 404


@pytest.mark.parametrize(("asked", "home"), [("/nothing", "./"), ("/no/such/page", "../../")])
def test_browser_that_is_nowhere_is_shown_the_way_back(asked: str, home: str) -> None:
    answer = call(APP, "GET", asked, {"accept": "text/html"})
    assert answer.status == 404
    assert f'<a href="{home}">' in answer.body.decode()
    assert "default-src 'none'" in answer.header("content-security-policy")


@pytest.mark.parametrize("asked", ["/", "/job/4711/"])
def test_slash_that_belongs_there_stays(asked: str) -> None:
    assert call(APP, "GET", asked).status == 200
