"""What a scheduler's node reports as held on others, as series of those nodes.

The agent of a node exports what it sees itself. What only the scheduler knows, such as a GPU that is
allocated and has no process, the server adds to the node's frames, so that it joins with the node's series.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable

from vigie.model import Binding, Table
from vigie.wire.agent_series import HOLDER

SOURCE = "vigie_allocations"
Key = tuple[str, str, str]  # resource, kind, holder
Labels = tuple[str, str, str, str, str]


class ReportedHolders:
    """The open bindings of nodes that others reported; any thread may call."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[str, dict[str, dict[Key, Labels]]] = defaultdict(dict)  # by node, reporter
        self._tables: dict[str, Table] = {}

    def change(self, reporter: str, node: str, binding: Binding) -> None:
        """Take that a binding began, goes on or has ended."""
        with self._guard:
            held = self._held[node].setdefault(reporter, {})
            if binding.to_ms is None:
                held[_key(binding)] = _labels(binding)
            else:
                held.pop(_key(binding), None)

    def replace(self, reporter: str, held: Iterable[tuple[str, Binding]]) -> None:
        """Take all that a node reports of others now."""
        with self._guard:
            for reported in self._held.values():
                reported.pop(reporter, None)
            for node, binding in held:
                self._held[node].setdefault(reporter, {})[_key(binding)] = _labels(binding)

    def table(self, node: str, own: frozenset[Key]) -> Table | None:
        """Return the series of a node, but for what its own agent exports; nothing when there are none."""
        if not self._held.get(node):
            return None
        with self._guard:
            found = {key: labels for held in self._held[node].values() for key, labels in held.items()}
            series = tuple((HOLDER, labels) for key, labels in sorted(found.items()) if key not in own)
            known = self._tables.get(node)
            if known is None or known.series != series:
                known = Table(SOURCE, known.version + 1 if known else 1, series)
                self._tables[node] = known
        return known


def exported_keys(table: Table) -> frozenset[Key]:
    """Return what the agent of a node exports itself."""
    return frozenset(
        (labels[1], labels[2], labels[3]) for metric, labels in table.series if metric.name == HOLDER.name
    )


def _key(binding: Binding) -> Key:
    return binding.resource, binding.holder_kind, binding.holder


def _labels(binding: Binding) -> Labels:
    return binding.gpu, binding.resource, binding.holder_kind, binding.holder, binding.user
