"""The pages of the web UI: their addresses, and what the server answers for each. None is absent, never 0."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from vigie.wire.api.rows import (
    Allocation,
    ClusterNode,
    FreeGpus,
    GpuCell,
    GpuDetails,
    GpuHealth,
    IdleHolder,
    IncidentRow,
    JobRow,
    LadderStep,
    ListedNode,
    NodeDetails,
    NodeHolders,
    RankRow,
    ReceiptLine,
    SourceRow,
    Stat,
    UserDay,
    UserHolder,
    UserRow,
    Verdict,
)


class WebPage(NamedTuple):
    """A page of the web UI, shown by the file of web/src/pages that has the name of its first step."""

    address: str
    loads: str = ""  # what it requests first, below api/pages/
    title: str = ""  # in the menu
    about: str = ""  # in the search
    menu: str = ""  # the entry of the menu that it stands below
    tool: bool = False  # stands in the lower part of the menu


WEB_PAGES = (
    WebPage("/", "cluster", "Cluster", "is anything broken, is it used, by whom"),
    WebPage("/jobs", "jobs?state=running", "Jobs", "what runs, what waits, what has ended"),
    WebPage("/job/{id:text}", "jobs/{}", menu="jobs"),
    WebPage("/nodes", "nodes", "Nodes", "every node with its state"),
    WebPage("/node/{name}", "nodes/{}", menu="nodes"),
    WebPage("/gpu/{node}/{gpu:text}", "gpus/{}/{}", menu="nodes"),
    WebPage("/users", "users", "Users", "who holds what"),
    WebPage("/user/{name:text}", "users/{}", menu="users"),
    WebPage("/events", "incidents", "Events", "what happened"),
    WebPage("/traces", title="Traces", about="where the time of training steps goes"),
    WebPage("/trace/{id}", menu="traces"),
    WebPage("/dashboards", title="Dashboards", about="all dashboards", tool=True),
    WebPage("/dashboard/{slug}", menu="dashboards"),
    WebPage("/explore", title="Explore", about="ask in PromQL", tool=True),
    WebPage("/vigie", title="vigie health", about="how the server and the agents are doing", tool=True),
)


class Page(Struct, frozen=True):
    at_ms: int
    verdict: Verdict


class IncidentsPage(Page, frozen=True):
    """All that needs attention, or did in the last hours."""

    incidents: list[IncidentRow]
    unfinished: bool  # the samples of the last hours are still being read


class DetailsPage(IncidentsPage, frozen=True):
    numbers: list[Stat]


class ClusterPage(DetailsPage, frozen=True):
    """The cluster: what needs attention, how much is used, every GPU, every job."""

    simulated: bool
    incidents_more: int
    nodes: list[ClusterNode]
    jobs: list[JobRow]
    waiting: list[JobRow]
    missing: str
    errors: dict[str, str]


class JobsPage(Page, frozen=True):
    """Jobs, with how much of what they hold works."""

    jobs: list[JobRow]


class JobPage(DetailsPage, frozen=True):
    """A job: how it uses its GPUs, and which rank is odd."""

    job: JobRow
    ladder: list[LadderStep]
    receipt: list[ReceiptLine]
    ranks: list[RankRow]
    medians: dict[str, float | None]
    free: FreeGpus | None
    missing: str


class NodesPage(Page, frozen=True):
    """Every node in a row."""

    nodes: list[ListedNode]


class NodePage(DetailsPage, frozen=True):
    """A node: its state, who is on it, and the state of its sources."""

    node: NodeDetails
    cells: list[GpuCell]
    who: NodeHolders
    sources: list[SourceRow]


class GpuPage(DetailsPage, frozen=True):
    """A GPU: its health, and whom it was allocated to."""

    cell: GpuCell
    info: GpuDetails
    holders: list[Allocation]
    health: GpuHealth
    siblings: list[GpuCell]
    ranks: list[GpuCell]


class UsersPage(Page, frozen=True):
    """Every user, with what each holds, uses and waits for."""

    users: list[UserRow]
    missing: str


class UserPage(DetailsPage, frozen=True):
    """A user: what they hold, what of it is idle, and what it cost."""

    cells: list[GpuCell]
    idle: list[IdleHolder]
    jobs: list[JobRow]
    days: list[UserDay]
    environments: list[UserHolder]
    containers: list[UserHolder]
