"""A small cluster for tests of the pages: two nodes, a few GPUs, jobs of two people, over a real store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.real.waiting import until
from tests.server.known import known_secrets
from tests.server.serving import TOKEN, Server, listening
from vigie.model import Binding, Event
from vigie.query.limits import QueryLimits
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.cluster.nodes import NodeStore
from vigie.server.http.request_log import Traffic
from vigie.server.maintenance import RetentionConfig
from vigie.server.privacy.redactor import Privacy
from vigie.server.services import ServerConfig, build_services
from vigie.store.filesystem import STORE_DIRECTORY
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store
from vigie.wire.messages import PROTOCOL, Hello

NOW = 1_700_000_000_000
MINUTE = 60_000
GPU = {"uuid": "GPU-1", "vendor": "nvidia", "model": "A GPU"}


def sample(name: str, value: float, node: str = "n1", minutes: int = 60, /, **labels: str) -> Samples:
    """Return a series that has had one value for an hour, or so many minutes."""
    times = [NOW - MINUTE * minute for minute in range(minutes, -1, -1)]
    values = [value] * len(times)
    return Samples({"__name__": name, "instance": node, "job": "node", **labels}, times, values)


def gpu(number: int, busy: float, node: str = "n1") -> list[Samples]:
    """Return what is known of a GPU."""
    which = {**GPU, "gpu": str(number), "uuid": f"GPU-{node}-{number}"}
    return [
        sample("vigie_gpu_info", 1, node, **which, driver="570", pci_bus_id=f"00000000:0{number}:00.0"),
        sample("vigie_gpu_busy_ratio", busy, node, **which),
        sample("vigie_gpu_processes", 1, node, **which),
        sample("vigie_gpu_power_watts", 100 + 300 * busy, node, **which),
        sample("vigie_gpu_memory_used_bytes", 4e9, node, **which),
        sample("vigie_gpu_memory_total_bytes", 8e9, node, **which),
    ]


class Place:
    """What a data directory is filled with before a server runs on it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.samples: list[Samples] = []
        self.bindings: list[tuple[str, Binding]] = []
        self.events: list[Event] = []
        self.nodes: list[str] = []

    def node(self, name: str) -> None:
        """Let a node be up."""
        self.nodes.append(name)
        self.samples.append(sample("up", 1, name))

    def job(self, job: str, user: str, held: list[tuple[str, int]], **facts: str) -> None:
        """Let a job hold GPUs for half an hour, or wait if it has none."""
        begin = NOW - 30 * MINUTE
        for node, number in held:
            one = Binding(f"gpu:{number}", "job", job, begin, None, user, "slurm", facts)
            self.bindings.append((node, one))
            labels = {"gpu": str(number), "resource": f"gpu:{number}", "kind": "job", "holder": job}
            self.samples.append(sample("vigie_holder_info", 1, node, 30, **labels, user=user))
        if not held:
            self.bindings.append(("n1", Binding("queue", "job", job, begin, None, user, "slurm", facts)))

    def write(self) -> None:
        """Write it all."""
        with Store(self.data / STORE_DIRECTORY) as store:
            store.append_series(self.samples)
            store.sync()
        with contextlib.closing(ClusterDatabase(self.data / FILE)) as database:
            bindings, events = BindingStore(database), EventStore(database)
            for node, binding in self.bindings:
                bindings.add(node, binding)
            for event in self.events:
                events.add(event)
            nodes = NodeStore(database, _ignored, lambda: NOW)
            for name in self.nodes:
                hello = Hello(PROTOCOL, name, "start", host=name, labels={"partition": "train"}, cadence=10)
                nodes.connect(hello, "10.0.0.1", joined=False)
            database.sync()


def _ignored(_: Event) -> None:
    pass


class Asked(Server):
    """A client of the server of a place."""

    def __init__(self, port: int) -> None:
        self.port = port

    def page(self, path: str, _headers: Mapping[str, str] | None = None, /, **given: str) -> Any:
        """Return a page of the API, which must be there."""
        said = self.ask("GET", f"/api/{path}?{urlencode(given)}", headers=_headers)
        assert said.status == 200, said.body
        return said.json

    def status(self, path: str, **given: str) -> tuple[int, str]:
        """Return status and error of an answer."""
        said = self.ask("GET", f"/api/{path}?{urlencode(given)}")
        return said.status, "" if said.status == 200 else said.json["error"]


@contextlib.contextmanager
def serving_place(place: Place, privacy: Privacy | None = None) -> Iterator[tuple[Asked, dict[str, Any]]]:
    """Serve a place, and give the headers by which its users are known."""
    place.write()
    with known_secrets(TOKEN) as secrets, contextlib.ExitStack() as opened:
        secrets.accounts.add("ada", "user")
        plan = ServerConfig(
            "127.0.0.1:0",
            place.data,
            QueryLimits(),
            RetentionConfig(),
            {},
            clock=lambda: NOW,
            privacy=privacy or Privacy(),
        )

        async def made() -> Any:
            return build_services(plan, secrets, opened, Traffic()).app

        app = asyncio.run(made())
        shown = {"ada": {"Authorization": f"Bearer {secrets.accounts.new_token('ada')}"}, "nobody": {}}
        shown["admin"] = {"Authorization": f"Bearer {TOKEN}"}
        with listening(app) as port:
            asked = Asked(port)
            until(
                lambda: not asked.page("pages/cluster", shown["admin"])["unfinished"],
                "its hours are looked at",
            )
            yield asked, shown
