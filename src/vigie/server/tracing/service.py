"""Everything about traces put together: library, coordinator, stacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vigie.model import Event
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.filters import HELD, BindingFilter
from vigie.server.cluster.nodes import NodeStore
from vigie.server.maintenance import RetentionConfig
from vigie.server.tracing.coordinator import ClusterFacts, NodeCommands, TraceCoordinator
from vigie.server.tracing.library import TraceLibrary
from vigie.server.tracing.stack_survey import StackSurvey
from vigie.wire.api.trace_session import TraceSession

MAX_JOB_BINDINGS = 10_000
DAY_MS = 86_400_000


class ClusterTracing:
    """Traces of the jobs on all nodes; made within the server's event loop."""

    def __init__(
        self,
        directory: Path,
        retention: RetentionConfig,
        links: NodeCommands,
        bindings: BindingStore,
        nodes: NodeStore,
        record_event: Callable[[Event], None],
    ) -> None:
        self._bindings, self._nodes, self._record = bindings, nodes, record_event
        library = TraceLibrary(
            directory,
            max_bytes=round(retention.traces_gigabytes * 1e9),
            max_age_ms=round(retention.traces_days * DAY_MS),
        )
        library.open()
        facts = ClusterFacts(self._find_nodes, self._find_clock_offset_ms, self._record_event)
        self.coordinator = TraceCoordinator(links, library, facts)
        self.survey = StackSurvey(links, self._find_nodes)
        self.coordinator.resume()

    def close(self) -> None:
        self.coordinator.stop()

    def _find_nodes(self, job: str) -> set[str]:
        held = self._bindings.find(BindingFilter(job=job, state=HELD), MAX_JOB_BINDINGS)
        return {found.node for found in held}

    def _find_clock_offset_ms(self, node: str) -> float:
        record = self._nodes.find(node)
        return record.clock_offset_ms if record is not None else 0.0

    def _record_event(self, session: TraceSession) -> None:
        what = f"trace {session.id} of {len(session.ranks)} processes, by {session.owner}"
        for node in sorted({rank.node for rank in session.ranks}):
            where = {"node": node, "trace": session.id, "job": session.selection.job}
            self._record(Event("trace_taken", session.created_ms, what, where, severity="info"))
