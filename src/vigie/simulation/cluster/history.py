"""Writes the history of the simulated cluster into a data directory, as a server would have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from vigie.model import Event
from vigie.server.cluster.activity_table import ActivityTable
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.cluster.nodes import NodeStore
from vigie.server.ingest.link_session import HERE
from vigie.server.ingest.link_tables import job_of
from vigie.server.staleness.activity import ActivityLog
from vigie.simulation.cluster.bindings import build_bindings
from vigie.simulation.cluster.events import build_events
from vigie.simulation.cluster.hellos import build_hello
from vigie.simulation.cluster.incidents import LOST
from vigie.simulation.cluster.metrics.server import TARGET, build_server_period
from vigie.simulation.cluster.nodes import SimulatedNode
from vigie.simulation.cluster.noise import Times
from vigie.simulation.cluster.scenario import MINUTE, Scenario
from vigie.simulation.cluster.sizing import STEP_MS, choose_rate
from vigie.simulation.memory_storage import MemoryStorage
from vigie.store.bulk_load import BulkLoader
from vigie.store.filesystem import STORE_DIRECTORY

ADDRESS = "127.0.0.1"


def write_history(
    scenario: Scenario,
    nodes: Sequence[SimulatedNode],
    data: Path,
    history_ms: int,
    tell: Callable[[int], object] = lambda _: None,
) -> None:
    """Write samples, events, bindings and nodes, up to the scenario's now.

    `tell` is called with the number of finished nodes.
    """
    times = np.arange(scenario.now_ms - history_ms, scenario.now_ms + 1, STEP_MS, dtype=np.int64)
    links, series = np.zeros(len(times)), 0
    with BulkLoader(data / STORE_DIRECTORY) as store:
        for done, node in enumerate(nodes):
            tell(done)
            labels = {"instance": node.machine.name, "job": "node"}
            for stretch in node.build_periods(times):
                of_table = {**labels, "job": job_of(stretch.table.source)}
                store.load(of_table, stretch.table, stretch.times, stretch.values)
                series += len(stretch.table.series)
            here = node.is_up(times)
            links += np.isin(times, here)
            if len(here):
                store.load(labels, HERE, here, np.tile([1.0, 0.0], (len(here), 1)))
        table, values = build_server_period(scenario, series, links, times)
        store.load(TARGET, table, times, values)
    with closing(ClusterDatabase(data / FILE)) as database:
        _write_activity(scenario, nodes, database, times)
        store_bindings = BindingStore(database, clock=lambda: scenario.now_ms)
        for name, binding in build_bindings(scenario, find_head(nodes)):
            store_bindings.add(name, binding)
        _write_events(scenario, nodes, database, int(times[0]))
        database.sync()


def _write_activity(
    scenario: Scenario, nodes: Sequence[SimulatedNode], database: ClusterDatabase, times: Times
) -> None:
    activity = ActivityLog(ActivityTable(database), MemoryStorage([]), lambda: scenario.now_ms)
    for node in nodes:
        for moment in node.is_up(times).tolist():
            activity.add_frame(node.machine.name, moment, STEP_MS / 1000)
    activity.close()


def find_head(nodes: Sequence[SimulatedNode]) -> str:
    """Return the scheduler's node: the first without GPUs, else the first."""
    plain = [node.machine.name for node in nodes if node.machine.gpu is None]
    return plain[0] if plain else nodes[0].machine.name


def _write_events(
    scenario: Scenario, nodes: Sequence[SimulatedNode], database: ClusterDatabase, begin_ms: int
) -> None:
    store = EventStore(database, clock=lambda: scenario.now_ms)
    for _, event in build_events(scenario):
        store.add(event)
    _register(scenario, nodes, database, begin_ms, store)


def _register(
    scenario: Scenario,
    nodes: Sequence[SimulatedNode],
    database: ClusterDatabase,
    begin_ms: int,
    store: EventStore,
) -> None:
    """Register each node, and mark it seen, lost and back as in the scenario."""
    clock = [begin_ms]

    def tell(event: Event) -> None:
        if event.kind == "node_lost":  # joining at the start of the demo is not an event
            store.add(event)

    with closing(NodeStore(database, tell, lambda: clock[0])) as registry:
        turns = sorted(_split_periods(scenario, nodes, begin_ms), key=lambda turn: turn[0])
        for moment, together in itertools.groupby(turns, key=lambda turn: turn[0]):
            clock[0] = max(clock[0], moment)
            for _, node, comes in together:
                if comes:
                    hello = build_hello(node.machine, choose_rate(len(nodes)).seconds).hello("")
                    registry.connect(hello, ADDRESS, joined=False)
                registry.mark_seen(node.machine.name)
            registry.watch()
        clock[0] = scenario.now_ms
        registry.watch()


def _split_periods(
    scenario: Scenario, nodes: Sequence[SimulatedNode], begin_ms: int
) -> Iterator[tuple[int, SimulatedNode, bool]]:
    """Yield when a node connects, and each minute at which it is seen."""
    for node in nodes:
        yield begin_ms, node, True
        heard = node.is_up(np.arange(begin_ms, scenario.now_ms + 1, MINUTE // 4, dtype=np.int64))
        for moment in heard.tolist():
            yield moment, node, False
        for incident in scenario.incidents_of(LOST, node=node.machine.name):
            if incident.end is not None and scenario.at(incident.end) > begin_ms:
                yield scenario.at(incident.end), node, True
