"""Names and addresses of all hosts that the server knows."""

from __future__ import annotations

from collections.abc import Iterable

from vigie.server.access.privacy import HOSTS
from vigie.server.nodes.registry import Node
from vigie.server.scrape.target import Target


def known_hosts(nodes: Iterable[Node], targets: Iterable[Target]) -> set[str]:
    """Return them, of nodes that were removed too: what happened there is still told."""
    words = set()
    for node in nodes:
        words |= {node.name, node.host, *node.addresses}
    for target in targets:
        words |= {target.host, *(text for label, text in target.labels.items() if label in HOSTS)}
    return words
