"""What an existing Prometheus should scrape: over HTTP, and as a file that is kept fresh."""

from __future__ import annotations

import ipaddress
import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vigie.common.listen import split_address
from vigie.common.yaml_writer import write_yaml
from vigie.server.cluster.nodes import LATE, LOST, UP, NodeRecord
from vigie.server.http.responses import respond
from vigie.server.http.routes import PROGRAMS, ApiRoute, Operation
from vigie.server.scrape.target import InvalidTargetError, Target, target_of
from vigie.server.staleness.activity import JOB

log = logging.getLogger(__name__)
REFRESH_SECONDS = 5.0
Listing = Callable[[], Iterable[Target]]


def agents(nodes: Iterable[NodeRecord]) -> list[Target]:
    """Return the agents that listen beyond loopback and are meant to be there."""
    there = [node for node in nodes if node.state in (UP, LATE, LOST)]
    found = [scraped_at(node) for node in there]
    return [target for target in found if isinstance(target, Target)]


def scraped_at(node: NodeRecord) -> Target | str:
    """Return where a node's agent can be scraped, or why it cannot."""
    if not node.listen:
        return "its agent answers on its own machine only; start it with --listen 0.0.0.0:9797"
    try:
        host, port = split_address(node.listen)
        if _is_any(host):
            host = node.addresses[0] if node.addresses else node.host
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return target_of(address, {"instance": node.name, "job": JOB})
    except (InvalidTargetError, ValueError) as error:
        return f"its agent says that it listens on {node.listen!r}: {error}"


def scraping(node: NodeRecord) -> dict[str, str]:
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


class DiscoveryEntry(NamedTuple):
    """Targets with labels, as Prometheus's service discovery spells them."""

    targets: list[str]
    labels: dict[str, str]


class Discovery:
    """Lists everything that can be scraped, whoever knows of it."""

    def __init__(self, *listings: Listing) -> None:
        self._listings = listings

    def entries(self) -> list[DiscoveryEntry]:
        """Return the targets with the labels that their series have here, too."""
        found = {target.url: target for listing in self._listings for target in listing()}
        ordered = [found[url] for url in sorted(found)]
        return [DiscoveryEntry([target.address], target.discovered()) for target in ordered]

    def routes(self) -> list[BaseRoute]:
        operation = Operation("List what can be scraped, for http_sd_configs.", list[DiscoveryEntry])
        return [ApiRoute("/sd/prometheus", self.answer, operation, access=PROGRAMS)]

    async def answer(self, request: Request) -> Response:
        """Answer what http_sd_configs asks."""
        entries = [entry._asdict() for entry in self.entries()]
        return respond(msgspec.json.encode(entries), request)


class FileSd:
    """Keeps a file for file_sd_configs as the targets are."""

    def __init__(self, path: Path, discovery: Discovery) -> None:
        self._path, self._discovery = path, discovery
        self._written: str | None = None
        self._said = ""
        self._wanted, self._closing = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="file_sd", daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Look at once whether something has changed."""
        self._wanted.set()

    def close(self) -> None:
        self._closing = True
        self.refresh()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            self._write()
            self._wanted.wait(REFRESH_SECONDS)
            self._wanted.clear()

    def _write(self) -> None:
        text = yaml(self._discovery.entries())
        if text == self._written and self._path.exists():
            return
        try:
            _replace(self._path, text)
            self._written, self._said = text, ""
        except OSError as error:
            if str(error) != self._said:  # once a change
                self._said = str(error)
                log.error("cannot write the file for file_sd_configs: %s", error)


def yaml(entries: Iterable[DiscoveryEntry]) -> str:
    note = "The targets of vigie, for file_sd_configs. Written anew whenever they change."
    return write_yaml([entry._asdict() for entry in entries], note)


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, and no other."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o644)  # a Prometheus runs as somebody else
    os.replace(partial, path)
