"""Asks a server what a Prometheus should scrape, and whether a token is one of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vigie.common.endpoint import Endpoint
from vigie.common.http_client import HttpClient, HttpResponse, UnreachableError
from vigie.publishing.options import ScrapeEntry

SECONDS = 15.0
MAX_RESPONSE_BYTES = 64 << 20


class ServerClientError(Exception):
    """The server did not say what it should; the message says why and what to type."""


def fetch_entries(server: Endpoint) -> list[ScrapeEntry]:
    """Return everything that can be scraped, as the server knows it."""
    reply = _request(server, "/sd/prometheus")
    if reply.status == 401:
        raise ServerClientError(
            f"{server.name} does not take the token; a viewer's, by --token-file, is made by: "
            "vigie users add publish --token (what was published before is in DIR/credentials/server)"
        )
    if reply.status != 200:
        raise ServerClientError(f"{server.name}/sd/prometheus says {reply.status}: is this vigie's server?")
    try:
        return [_entry(item) for item in json.loads(reply.body)]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ServerClientError(f"{server.name}/sd/prometheus gave no list of targets: {error}") from None


def fetch_portless(server: Endpoint) -> int:
    """Return how many nodes no Prometheus can scrape, so that only the server has their samples."""
    try:
        nodes = json.loads(_request(server, "/api/nodes").body)["nodes"]
        return sum(not node["scrape_address"] for node in nodes)
    except (ValueError, TypeError, KeyError) as error:
        raise ServerClientError(f"{server.name}/api/nodes gave no list of nodes: {error}") from None


def accepts_token(server: Endpoint) -> bool:
    """Tell whether the server knows the token that is shown to it."""
    return _request(server, "/api/nodes").status == 200


def reload(prometheus: Endpoint) -> str:
    """Have a Prometheus read its files again, and return why it did not, if so."""
    client = HttpClient(prometheus, SECONDS)
    try:
        reply = client.request("POST", f"{prometheus.parts().path.rstrip('/')}/-/reload")
    except UnreachableError as error:
        return f"{prometheus.name}: {error}"
    finally:
        client.close()
    return "" if reply.status == 200 else f"{prometheus.name}/-/reload says {reply.status}"


def _request(server: Endpoint, path: str) -> HttpResponse:
    client = HttpClient(server, SECONDS, MAX_RESPONSE_BYTES)
    try:
        return client.request("GET", f"{server.parts().path.rstrip('/')}{path}")
    except UnreachableError as error:
        raise ServerClientError(f"{server.name}: {error}. Cannot reach the server. Run `vigie up`") from None
    finally:
        client.close()


def _entry(item: Mapping[str, Any]) -> ScrapeEntry:
    labels = {str(name): str(value) for name, value in item["labels"].items()}
    if not isinstance(item["targets"], list):
        raise TypeError("targets that are no list")
    return ScrapeEntry([str(target) for target in item["targets"]], {"instance": "", "job": "", **labels})
