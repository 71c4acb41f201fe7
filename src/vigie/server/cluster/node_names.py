"""Which node is meant by the names that a scheduler has for it."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Sequence

from vigie.server.cluster.nodes import REMOVED, NodeRecord


class NodeNames:
    """Finds nodes by name, host name and address; a name that fits several nodes finds none."""

    def __init__(self, nodes: Iterable[NodeRecord]) -> None:
        self._named: set[str] = set()
        self._found: dict[str, set[str]] = defaultdict(set)
        for node in nodes:
            if node.state == REMOVED:
                continue
            self._named.add(node.name)
            for word in (node.name, node.host, *node.addresses):
                for alias in _aliases(word):
                    self._found[alias].add(node.name)

    def find(self, names: Sequence[str]) -> str:
        """Return the node of these names, the surest first, or the first of them if it is none of ours."""
        for name in names:
            if name in self._named:
                return name
            for alias in _aliases(name):
                found = self._found.get(alias, set())
                if len(found) == 1:
                    return next(iter(found))
        return names[0]


def _aliases(word: str) -> list[str]:
    """Return what a word is compared by: an address itself unless it is loopback, a name also without domain.

    >>> _aliases("gpu01.cluster"), _aliases("10.0.0.7"), _aliases("127.0.0.1"), _aliases("localhost")
    (['gpu01.cluster', 'gpu01'], ['10.0.0.7'], [], [])
    """
    if not word or word == "localhost":
        return []
    try:
        return [] if ipaddress.ip_address(word).is_loopback else [word]
    except ValueError:
        return list(dict.fromkeys((word.lower(), word.lower().partition(".")[0])))
