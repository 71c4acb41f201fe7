"""Nodes, events, bindings, jobs, users, findings, dashboards, sessions, as the server answers them."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from msgspec import Meta, Struct

T = TypeVar("T")
NonEmpty = Annotated[str, Meta(min_length=1)]


class ApiError(Struct, frozen=True):
    """An error, as Prometheus spells it."""

    status: Literal["error"]
    errorType: str  # noqa: N815
    error: str


class Success(Struct, Generic[T], frozen=True, omit_defaults=True):
    """The answer of a route of Prometheus's API."""

    status: Literal["success"]
    data: T
    warnings: list[str] = []
    infos: list[str] = []


class EventRow(Struct, frozen=True):
    id: int
    node: str
    kind: str
    begin_ms: int
    end_ms: int | None
    what: str
    where: dict[str, str]
    severity: str


class EventList(Struct, frozen=True, omit_defaults=True):
    """Events; `next` is there while there is more, `last` is the newest number."""

    events: list[EventRow]
    last: int
    next: str = ""


class NodeFacts(Struct, frozen=True):
    name: str
    state: str
    first_seen_ms: int
    last_seen_ms: int
    host: str
    addresses: list[str]
    version: str
    cadence: float
    listen: str
    labels: dict[str, str]
    inventory: dict[str, str]
    expected: dict[str, str]
    missing: list[str]
    clock_offset_seconds: float
    scrape_address: str
    scrape_trouble: str


class NodeList(Struct, frozen=True):
    """Nodes, by name."""

    nodes: list[NodeFacts]


class AddedNode(Struct, frozen=True):
    """The node, and the key that its agent has to show."""

    added: str
    key: str


class RemovedNode(Struct, frozen=True):
    """The node."""

    removed: str


class CommandOutput(Struct, frozen=True):
    """The node's reply."""

    node: str
    said: str


class BindingRow(Struct, frozen=True):
    id: int
    node: str
    resource: str
    gpu: str
    kind: str
    holder: str
    user: str
    from_ms: int
    to_ms: int | None
    end: str
    source: str
    facts: dict[str, str]


class BindingList(Struct, frozen=True, omit_defaults=True):
    """Bindings; `next` is there while there is more."""

    bindings: list[BindingRow]
    next: str = ""


class JobFacts(Struct, frozen=True):
    name: str
    id: str
    user: str
    state: str
    queued_ms: int | None
    start_ms: int
    end_ms: int | None
    nodes: list[str]
    gpus: list[str]
    source: str
    facts: dict[str, str]


class JobList(Struct, frozen=True, omit_defaults=True):
    """Jobs; `next` is there while there is more."""

    jobs: list[JobFacts]
    next: str = ""


class UserFacts(Struct, frozen=True):
    user: str
    gpus: list[str]
    nodes: list[str]
    jobs_running: int
    jobs_waiting: int
    gpu_hours: float


class UserList(Struct, frozen=True, omit_defaults=True):
    """Users; `next` is there while there is more."""

    users: list[UserFacts]
    next: str = ""


class FindingSummary(Struct, frozen=True):
    name: str
    severity: str
    title: str
    summary: str
    action: str
    when: str
    events: list[str]


class FindingList(Struct, frozen=True):
    """The diagnoses, by name."""

    findings: list[FindingSummary]


class SearchResult(Struct, frozen=True):
    kind: Literal["node", "gpu", "job", "user", "event", "metric", "page"]
    name: str
    note: str
    link: str


class SearchResults(Struct, frozen=True):
    """At most 30, the best first."""

    found: list[SearchResult]


class DashboardSummary(Struct, frozen=True):
    slug: str
    title: str
    description: str


class DashboardList(Struct, frozen=True):
    """The dashboards, by title."""

    dashboards: list[DashboardSummary]


class Credentials(Struct, frozen=True):
    name: NonEmpty
    password: NonEmpty


class LoginResult(Struct, frozen=True):
    """Who is signed in."""

    role: str
    name: str


class Session(LoginResult, frozen=True):
    """Who is signed in; `home` is the page to begin with."""

    user: str
    simulated: bool
    version: str
    privacy: str
    home: str


class NotReady(Struct, frozen=True):
    """Why the server cannot do its work."""

    ready: bool
    reasons: list[str]
