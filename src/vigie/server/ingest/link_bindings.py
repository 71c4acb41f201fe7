"""The bindings of one connection: of its own node, and of others where it may report them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vigie.model import Binding, Table
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.node_names import NodeNames
from vigie.server.cluster.nodes import NodeStore
from vigie.server.ingest.reported_holders import Key, ReportedHolders, exported_keys
from vigie.store.errors import InvalidInputError
from vigie.wire.agent_series import EXPORTED
from vigie.wire.bindings import parse_binding
from vigie.wire.messages import MAX_HELD_MESSAGES, HeldBindings, MalformedMessageError

SCHEDULER_EVENTS = frozenset(("node_drained",))
NAMES_MS = 10_000  # for which the names of all nodes are kept


class LinkBindings:
    """Stores what an agent says is held; its methods that write run in the writer's thread."""

    def __init__(
        self,
        node: str,
        store: BindingStore,
        registry: NodeStore,
        holders: ReportedHolders,
        clock: Callable[[], int],
        *,
        reports_others: bool,
    ) -> None:
        self._node, self._store, self._registry, self._holders = node, store, registry, holders
        self._clock, self._reports_others = clock, reports_others
        self._parts: list[HeldBindings] = []
        self._names: NodeNames | None = None
        self._names_ms = 0
        self._exported: tuple[Table | None, frozenset[Key]] = (None, frozenset())

    def add(self, binding: Binding) -> None:
        """Store a binding, or raise InvalidInputError if the node may not report it."""
        node = ""
        if binding.node_names:
            if not self._reports_others:
                raise InvalidInputError(
                    f"{self._node} may not report what is held on other nodes: on the server, add it to "
                    "server.cluster_reporters"
                )
            node = self._known_names().find(binding.node_names)
            self._holders.change(self._node, node, binding)
        self._store.add(self._node, binding, node)

    def collect(self, message: HeldBindings) -> list[Binding] | None:
        """Take a part of all that is held, and return all of it with the last part."""
        self._parts.append(message)
        if len(self._parts) > MAX_HELD_MESSAGES:
            raise MalformedMessageError(f"more than {MAX_HELD_MESSAGES} messages of what is held")
        if message.more:
            return None
        held = [parse_binding(one) for part in self._parts for one in part.bindings]
        self._parts = []
        return [one for one in held if self._reports_others or not one.node_names]

    def replace(self, held: list[Binding]) -> None:
        """Store all that is held: whatever else this agent reported has ended."""
        known = self._known_names()
        nodes = {names: known.find(names) for names in {one.node_names for one in held} if names}
        self._holders.replace(self._node, [(nodes[one.node_names], one) for one in held if one.node_names])
        self._store.replace_held(self._node, held, self._clock(), nodes)

    def place_of(self, kind: str, where: Mapping[str, str]) -> str:
        """Return the node of an event: this one, or of what a scheduler reports another."""
        if not self._reports_others or kind not in SCHEDULER_EVENTS or not where.get("node"):
            return self._node
        return self._known_names().find([name for name in (where["node"], where.get("host", "")) if name])

    def reported(self, tables: list[tuple[int, Table]]) -> list[tuple[Table, tuple[float, ...]]]:
        """Return what others report as held here, as far as this agent does not export it."""
        for _, table in tables:
            if table.source == EXPORTED and table is not self._exported[0]:
                self._exported = (table, exported_keys(table))
        found = self._holders.table(self._node, self._exported[1])
        return [(found, (1.0,) * len(found.series))] if found and found.series else []

    def _known_names(self) -> NodeNames:
        """Return the names of all nodes, as they were a moment ago."""
        now = self._clock()
        if self._names is None or not 0 <= now - self._names_ms <= NAMES_MS:
            self._names, self._names_ms = NodeNames(self._registry.nodes()), now
        return self._names
