"""Search over nodes, GPUs, jobs, users, events, metrics and pages, for the box at the top of every page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from vigie.dashboards import all_dashboards
from vigie.server.cluster.events import StoredEvent
from vigie.server.pages.incident_rows import IncidentRows
from vigie.server.pages.rows import JobRows
from vigie.server.pages.snapshot import Snapshot
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.pages import WEB_PAGES
from vigie.wire.api.resources import SearchResult

MAX_RESULTS, MAX_OF_KIND = 30, 8


def search(
    text: str, snapshot: Snapshot, redactor: Redactor, events: Sequence[StoredEvent], metrics: Sequence[str]
) -> list[SearchResult]:
    """Return what fits a text: each kind by itself, exact before beginning before anywhere."""
    wanted = text.strip().lower()
    kinds = (
        _nodes(snapshot, redactor),
        _gpus(snapshot, redactor),
        _jobs(snapshot, redactor),
        _users(snapshot, redactor),
        _incidents(snapshot, redactor),
        _events(redactor, events),
        _pages(),
        (SearchResult("metric", name, "", f"explore?query={quote(name, safe='')}") for name in metrics),
    )
    found: list[SearchResult] = []
    for results in kinds:
        ranked = sorted(
            ((rank, row) for row in results if (rank := _rank(wanted, row, redactor)) is not None),
            key=lambda both: both[0],
        )
        found += [row for _, row in ranked[:MAX_OF_KIND]]
    return (
        sorted(found, key=lambda row: _rank(wanted, row, redactor) or 0)[:MAX_RESULTS]
        if wanted
        else found[:MAX_RESULTS]
    )


def _rank(wanted: str, row: SearchResult, redactor: Redactor) -> int | None:
    name, note = row.name.lower(), row.note.lower()
    if row.kind == "event" and redactor.hides_hosts:
        note = ""  # it names hosts as they are, and whether it fits would tell them
    if name == wanted:
        return 0
    if name.startswith(wanted):
        return 1
    if wanted in name:
        return 2
    return 3 if wanted in note else None


def _nodes(snapshot: Snapshot, redactor: Redactor) -> Iterator[SearchResult]:
    for name in sorted(snapshot.nodes):
        labels, shown = " ".join(snapshot.nodes[name].labels.values()), redactor.host(name)
        note = f"{snapshot.node_state(name)} {labels}".strip()
        yield SearchResult("node", shown, note, f"node/{quote(shown, safe='')}")


def _gpus(snapshot: Snapshot, redactor: Redactor) -> Iterator[SearchResult]:
    for name, cards in sorted(snapshot.on_node.items()):
        node = redactor.host(name)
        for card in cards:
            link = f"gpu/{quote(node, safe='')}/{quote(card.gpu, safe='')}"
            yield SearchResult("gpu", f"{node}:{card.gpu}", f"{card.model} {card.uuid}", link)


def _jobs(snapshot: Snapshot, redactor: Redactor) -> Iterator[SearchResult]:
    rows = JobRows(snapshot, redactor)
    for job in snapshot.jobs.values():
        row = rows.build(job)
        link = f"job/{quote(row.id, safe='')}"
        yield SearchResult("job", row.name, f"{row.id} of {row.user}, {row.state}", link)


def _users(snapshot: Snapshot, redactor: Redactor) -> Iterator[SearchResult]:
    for name in sorted({stored.binding.user for stored in snapshot.bindings if stored.binding.user}):
        shown = redactor.user(name)
        yield SearchResult("user", shown, "", f"user/{quote(shown, safe='')}")


def _incidents(snapshot: Snapshot, redactor: Redactor) -> Iterator[SearchResult]:
    for row in IncidentRows(snapshot, redactor).all():
        yield SearchResult("event", row.title, row.summary, row.link)


def _events(redactor: Redactor, events: Sequence[StoredEvent]) -> Iterator[SearchResult]:
    for stored in events:
        row: dict[str, Any] = redactor.event(stored.json)
        link = f"events?node={quote(row['node'], safe='')}&kind={quote(row['kind'], safe='')}"
        yield SearchResult("event", row["kind"], f"{row['node']}: {row['what']}", link)


def _pages() -> Iterator[SearchResult]:
    for page in WEB_PAGES:
        if page.about:
            link = page.address.strip("/")
            yield SearchResult("page", link or "cluster", page.about, link)
    for dashboard in all_dashboards():
        if dashboard.listed:
            yield SearchResult("page", dashboard.title, dashboard.description, f"dashboard/{dashboard.slug}")
