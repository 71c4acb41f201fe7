"""The page: one document at each address of it, files that browsers keep, and nothing from elsewhere."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.asgi import Answer, call
from tests.server.known import known_secrets
from tests.server.serving import TOKEN
from vigie.server.auth.authenticator import Authenticator, AuthPolicy
from vigie.server.auth.middleware import AuthMiddleware, with_auth
from vigie.server.http.html import base_href
from vigie.server.web_app import HERE, preload_path, web_app_routes
from vigie.wire.api.pages import WEB_PAGES

SCRIPT = b"console.log('x')" * 100
INDEX = f"<!doctype html><head>{HERE}<script src='./assets/index-1.js'></script></head>"
EXAMPLES = {
    "{id:text}": "4711",
    "{id}": "9f0c",
    "{name}": "n1",
    "{name:text}": "ada",
    "{node}": "n1",
    "{gpu:text}": "0",
    "{slug}": "jobs",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("page"))
    (folder / "assets").mkdir()
    (folder / "index.html").write_text(INDEX)
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "assets" / "index-1.js").write_bytes(SCRIPT)
    (folder / "assets" / "index-1.js.gz").write_bytes(gzip.compress(SCRIPT, mtime=0))
    (folder / "assets" / "plain-1.css").write_text("a {}")
    (folder.parent / "secret").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def app(built: Path) -> Iterator[AuthMiddleware]:
    with known_secrets(TOKEN) as secrets:
        yield with_auth(web_app_routes(built), Authenticator(secrets))


def addresses() -> list[str]:
    found = []
    for page in WEB_PAGES:
        address = page.address
        for place, example in EXAMPLES.items():
            address = address.replace(place, example)
        found.append(address)
    return found


def get(app: AuthMiddleware, path: str, **headers: str) -> Answer:
    return call(app, "GET", path, {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("address", addresses())
def test_every_address_shows_the_document_with_its_files_below_any_prefix(
    app: AuthMiddleware, address: str
) -> None:
    answer = get(app, address)
    assert answer.status == 200
    base = answer.body.decode().partition('<base href="')[2].partition('"')[0]
    for prefix in ("", "/some/where"):
        page = urljoin(f"http://here{prefix}{address}", base)
        assert urljoin(page, "./assets/index-1.js") == f"http://here{prefix}/assets/index-1.js"


def test_base_follows_the_address_as_the_browser_wrote_it() -> None:
    assert base_href({"path": "/job/a/b", "raw_path": b"/job/a%2Fb"}) == "../"
    assert base_href({"path": "/job/a/b", "raw_path": b"/job/a/b?x=/"}) == "../../"
    assert base_href({"path": "/"}) == "./"


def test_document_names_what_the_page_asks_first_as_the_page_spells_it(app: AuthMiddleware) -> None:
    said = get(app, "/gpu/gpu%2001/MIG-%C3%A9(1)").body.decode()
    assert (
        '<link rel="preload" as="fetch" crossorigin href="api/pages/gpus/gpu%2001/MIG-%C3%A9(1)" />' in said
    )
    assert 'href="api/pages/cluster"' in get(app, "/").body.decode()


@pytest.mark.parametrize("address", ["/job/1?at=1700000000", "/job/a/b", "/dashboards", "/explore?query=up"])
def test_document_names_no_question_that_the_page_may_not_ask(app: AuthMiddleware, address: str) -> None:
    assert "preload" not in get(app, address).body.decode()


@given(st.binary())
def test_any_address_is_safe_in_the_document(path: bytes) -> None:
    said = preload_path({"raw_path": b"/job/" + path, "path": "", "query_string": b""})
    assert said is None or not set(said) & set('"<>& \n')


def test_document_loads_nothing_from_elsewhere_and_is_asked_for_anew(app: AuthMiddleware) -> None:
    answer = get(app, "/")
    policy = answer.header("content-security-policy")
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert answer.header("cache-control") == "no-cache"


def test_files_are_kept_for_good_and_sent_packed(app: AuthMiddleware) -> None:
    packed = get(app, "/assets/index-1.js", accept_encoding="gzip")
    assert packed.header("content-encoding") == "gzip"
    assert "immutable" in packed.header("cache-control")
    assert packed.header("content-type").startswith("text/javascript")
    assert gzip.decompress(packed.body) == SCRIPT == get(app, "/assets/index-1.js").body
    assert get(app, "/assets/plain-1.css", accept_encoding="gzip").body == b"a {}"
    assert get(app, "/icon.svg").header("content-type") == "image/svg+xml"


@pytest.mark.parametrize("path", ["/", "/assets/index-1.js", "/icon.svg"])
def test_what_the_browser_has_is_not_sent_again(app: AuthMiddleware, path: str) -> None:
    tag = get(app, path).header("etag")
    known = get(app, path, if_none_match=f'"other", W/{tag}')
    assert (known.status, known.body) == (304, b"")
    assert get(app, path, if_none_match='"other"').status == 200


@given(st.text(max_size=30))
def test_no_name_leads_out_of_the_folder(app: AuthMiddleware, name: str) -> None:
    asked = name.partition("?")[0]
    assert get(app, f"/assets/{name}").status != 200 or asked in (
        "index-1.js",
        "index-1.js.gz",
        "plain-1.css",
    )


@pytest.mark.parametrize("name", ["../secret", "..%2F..%2Fsecret", ".", "..", "nothing.js", "index-1.js%00"])
def test_file_that_is_none_is_not_found(app: AuthMiddleware, name: str) -> None:
    answer = get(app, f"/assets/{name}")
    assert answer.status == 404
    assert b"secret" not in answer.body


def test_page_that_is_not_built_says_what_to_type(tmp_path: Path) -> None:
    with known_secrets(TOKEN) as secrets:
        answer = get(with_auth(web_app_routes(tmp_path), Authenticator(secrets)), "/job/1")
    assert answer.status == 503
    assert b"pip install ." in answer.body


def test_whoever_may_not_look_gets_the_sign_in_at_the_same_address(built: Path) -> None:
    with known_secrets(TOKEN) as secrets:
        shut = with_auth(web_app_routes(built), Authenticator(secrets, AuthPolicy(auth="always")))
        answer = get(shut, "/gpu/n1/0", accept="text/html")
        assert answer.status == 401
        assert b'action="../../api/login"' in answer.body
        assert get(shut, "/assets/index-1.js").status == 401
        assert get(shut, "/gpu/n1/0", authorization=f"Bearer {TOKEN}").status == 200
