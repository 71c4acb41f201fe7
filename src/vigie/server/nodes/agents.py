"""Which agents a Prometheus could scrape, and where; their series have the same labels on every way."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from vigie.agent.agent import split
from vigie.server.absence.absences import JOB
from vigie.server.nodes.registry import LATE, LOST, UP, Node
from vigie.server.scrape.target import BadTarget, Target, target_of


def agents(nodes: Iterable[Node]) -> list[Target]:
    """Return the agents that listen beyond loopback and are meant to be there."""
    there = [node for node in nodes if node.state in (UP, LATE, LOST)]
    found = [scraped_at(node) for node in there]
    return [target for target in found if isinstance(target, Target)]


def scraped_at(node: Node) -> Target | str:
    """Return where a node's agent can be scraped, or why it cannot."""
    if not node.listen:
        return "its agent answers on its own machine only; start it with --listen 0.0.0.0:9797"
    try:
        host, port = split(node.listen)
        if _is_any(host):
            host = node.addresses[0] if node.addresses else node.host
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return target_of(address, {"instance": node.name, "job": JOB})
    except (BadTarget, ValueError) as error:
        return f"its agent says that it listens on {node.listen!r}: {error}"


def scraping(node: Node) -> dict[str, str]:
    """Return for JSON where a Prometheus finds a node's agent, or why it does not."""
    found = scraped_at(node)
    if isinstance(found, Target):
        return {"scrape_address": found.address, "scrape_trouble": ""}
    return {"scrape_address": "", "scrape_trouble": found}


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
