"""/: the nodes and the way to the API, in one document that asks nobody else for anything."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest

from tests.server.asgi import call
from tests.server.known import known_secrets
from tests.server.serving import TOKEN
from vigie.server.access.callers import Callers
from vigie.server.access.guard import guarded
from vigie.server.access.roles import TABLE
from vigie.server.home import home
from vigie.server.nodes.registry import LOST, REMOVED, Node

NODES = [Node("n1"), Node("n2", state=LOST), Node("gone", state=REMOVED), Node('<b>"x"')]


class Links(HTMLParser):
    """Collects what a page leads to, and what it would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.loaded += [value or "" for name, value in attrs if name == "src"]


def page(nodes: Callable[[], list[Node]] = lambda: NODES, **headers: str) -> str:
    with known_secrets(TOKEN) as secrets:
        answer = call(guarded([home(nodes)], Callers(secrets)), "GET", "/", headers)
    assert answer.status == 200
    assert answer.header("content-security-policy").startswith("default-src 'none'")
    assert answer.header("cache-control") == "no-store"
    return answer.body.decode()


def test_nodes_are_listed_with_their_state_but_for_removed_ones() -> None:
    body = page()
    assert "2 of 3 are up" in body
    assert "n1" in body
    assert ">lost<" in body
    assert "gone" not in body


def test_names_are_text_and_nothing_is_loaded_from_anywhere() -> None:
    found = Links(page())
    assert not found.tags & {"b", "script", "img", "link", "iframe"}
    assert found.loaded == []


@pytest.mark.parametrize("prefix", ["/", "/vigie/"])
def test_links_lead_to_routes_there_are_also_below_a_prefix(prefix: str) -> None:
    for link in Links(page()).links:
        path = (
            urljoin(f"http://here{prefix}", link).removeprefix(f"http://here{prefix[:-1]}").partition("?")[0]
        )
        assert path in TABLE or path.startswith("/api/nodes/")


def test_without_nodes_it_says_what_to_type() -> None:
    assert "vigie nodes join" in page(list)


def test_it_says_who_is_signed_in() -> None:
    assert "signed in as admin" in page(Authorization=f"Bearer {TOKEN}")
    assert "Sign in" in page()
