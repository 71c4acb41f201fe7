"""The pages of the terminal: their addresses, as in the web UI, and what is requested for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode

import msgspec

from vigie.views.terminal.measures import Measure
from vigie.views.terminal.page import TerminalPage
from vigie.views.terminal.pages import cluster, events, gpu, job, node, user
from vigie.views.terminal.tables import Matches
from vigie.wire.api.pages import ClusterPage, GpuPage, IncidentsPage, JobPage, NodePage, Page, UserPage

Builder = Callable[[Any, Measure, Matches, int], TerminalPage]


class PageKind(NamedTuple):
    """A kind of page: its title, path and type in the API, how many names it needs, and its builder."""

    title: str
    path: str
    answer: type[Page]
    names: int
    build: Builder


KINDS = {
    "": PageKind("Cluster", "cluster", ClusterPage, 0, cluster.build_page),
    "node": PageKind("Node", "nodes", NodePage, 1, node.build_page),
    "gpu": PageKind("GPU", "gpus", GpuPage, 2, gpu.build_page),
    "job": PageKind("Job", "jobs", JobPage, 1, job.build_page),
    "user": PageKind("User", "users", UserPage, 1, user.build_page),
    "events": PageKind("Events", "incidents", IncidentsPage, 0, events.build_page),
}


class PageRoute(NamedTuple):
    """A page of the terminal, now or at a moment."""

    kind: str = ""
    names: tuple[str, ...] = ()
    at: str = ""

    @property
    def path(self) -> str:
        """Return what is requested."""
        words = ["api/pages", KINDS[self.kind].path, *(quote(name, safe="") for name in self.names)]
        return "/".join(words) + (f"?{urlencode({'at': self.at})}" if self.at else "")

    @property
    def title(self) -> str:
        return f"{KINDS[self.kind].title} {':'.join(self.names)}".rstrip()

    def decode(self, body: bytes) -> Page:
        """Return the answer of a server, or raise msgspec.DecodeError."""
        return msgspec.json.decode(body, type=KINDS[self.kind].answer)


def parse_route(address: str) -> PageRoute | None:
    """Return the page of a link, or None if the terminal has no such page."""
    path, _, query = address.partition("?")
    kind, *names = [unquote(word) for word in path.strip("/").split("/")]
    at = parse_qs(query).get("at", [""])[0]
    if kind not in KINDS or KINDS[kind].names != len(names) or not all(names):
        return None
    return PageRoute(kind, tuple(names), at)
