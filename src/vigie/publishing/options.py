"""What is asked of what is published, and what a server was found to have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

SERVER, PROMETHEUS = "server", "prometheus"
HTTP, FILE = "http", "file"


class PublishOptions(NamedTuple):
    root: Path  # absolute: Grafana wants absolute paths
    address: str  # where Prometheus and Grafana find the server
    prometheus: str = "http://127.0.0.1:9090"
    grafana_listen: str = "127.0.0.1:3000"
    alertmanager: str = ""  # HOST:PORT
    data_source: str = SERVER
    discovery: str = HTTP
    federate: int = 100  # nodes without a port, at most, whose samples the server is asked for
    anonymous_viewer: bool = False
    interval: float = 15.0
    ca_file: str = ""
    home: str = "cluster"  # the dashboard that Grafana opens with
    prometheus_image: str = "prom/prometheus:v3.5.0"
    grafana_image: str = "grafana/grafana:12.1.1"

    @property
    def server(self) -> SplitResult:
        """Return the parts of the server's address."""
        return urlsplit(self.address.rstrip("/"))


class PublishTokens(NamedTuple):
    """The secrets that are shown: to the server, to every agent, and to some agents by the node's name."""

    server: str = ""
    agents: str = ""
    nodes: Mapping[str, str] = {}


class ScrapeEntry(NamedTuple):
    """A target with its labels, as the server's discovery tells it."""

    targets: Sequence[str]
    labels: Mapping[str, str]

    @property
    def is_agent(self) -> bool:
        """Tell whether an agent answers there, which may ask for a token."""
        return self.labels.get("job") == "node"


class InvalidOptionError(ValueError):
    """Something that cannot be published; the message says why and what to type."""


_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z_.-]+):[0-9]{1,5}")
_TROUBLE = frozenset("$;#\"'`\\%")  # Grafana, compose or YAML take these for something else


def check_options(options: PublishOptions) -> None:
    """Raise BadOption for what Grafana's and Prometheus's files cannot say."""
    found = set(str(options.root)) & _TROUBLE
    if found or not str(options.root).isprintable():
        raise InvalidOptionError(
            f"{options.root} cannot be published to: its name holds {' '.join(sorted(found))}"
        )
    for name, place in (("--grafana", options.grafana_listen), ("--alertmanager", options.alertmanager)):
        if place and not _PLACE.fullmatch(place):
            raise InvalidOptionError(f"{name} {place!r} should be a host and a port such as 127.0.0.1:9093")
    for name, url in (("--address", options.address), ("--prometheus", options.prometheus)):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or set(url) & _TROUBLE - {"%"}:
            raise InvalidOptionError(f"{name} {url!r} should be an address such as http://127.0.0.1:8000")
        if parts.username or parts.password:
            raise InvalidOptionError(f"{name} should hold no password: everybody may read what is published")
