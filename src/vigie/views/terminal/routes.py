"""Where one can go: the web page's own addresses, and what the server is asked for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode

from vigie.views.terminal.json_object import JsonObject
from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import TerminalPage
from vigie.views.terminal.pages import cluster, events, gpu, job, node, user
from vigie.views.terminal.tables import Matches

Builder = Callable[[JsonObject, Measure, Matches, int], TerminalPage]


class PageKind(NamedTuple):
    """A kind of page: what people and the server call it, how many names it needs, and how it is made."""

    title: str
    asked: str
    names: int
    page: Builder


KINDS = {
    "": PageKind("Cluster", "cluster", 0, cluster.page),
    "node": PageKind("Node", "nodes", 1, node.page),
    "gpu": PageKind("GPU", "gpus", 2, gpu.page),
    "job": PageKind("Job", "jobs", 1, job.page),
    "user": PageKind("User", "users", 1, user.page),
    "events": PageKind("Events", "incidents", 0, events.page),
}


class PageRoute(NamedTuple):
    """A page of the terminal, now or at a moment."""

    kind: str = ""
    names: tuple[str, ...] = ()
    at: str = ""

    @property
    def path(self) -> str:
        """Return what the server is asked."""
        words = ["api/pages", KINDS[self.kind].asked, *(quote(name, safe="") for name in self.names)]
        return "/".join(words) + (f"?{urlencode({'at': self.at})}" if self.at else "")

    @property
    def title(self) -> str:
        """Return what the page is called before its answer is there."""
        return f"{KINDS[self.kind].title} {':'.join(self.names)}".rstrip()


def parse_route(address: str) -> PageRoute | None:
    """Return the page of a link, or None if the terminal has no such page."""
    path, _, query = address.partition("?")
    kind, *names = [unquote(word) for word in path.strip("/").split("/")]
    at = parse_qs(query).get("at", [""])[0]
    if kind not in KINDS or KINDS[kind].names != len(names) or not all(names):
        return None
    return PageRoute(kind, tuple(names), at)
