"""Where a request comes from: this machine, a proxy, or another site's page in a browser."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from vigie.common.listen import LOOPBACK_NAMES

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

FORWARDING = (
    "forwarded", "via", "x-real-ip", "x-client-ip", "client-ip", "true-client-ip", "cf-connecting-ip",
    "x-cluster-client-ip",
)  # fmt: skip
FORWARDING_PREFIXES = ("x-forwarded-", "x-original-", "x-envoy-")


def not_local(connection: HTTPConnection, names: Collection[str]) -> str:
    """Return why the request is not certainly of somebody on this machine, or nothing."""
    if not connection.client or not _is_loopback(connection.client.host):
        return "beyond this machine"
    for name in connection.headers:
        if name in FORWARDING or name.startswith(FORWARDING_PREFIXES):
            return f"for a request that was passed on (header {name})"
    if connection.scope.get("http_version") == "1.0":  # nginx passes on like this, and says nothing else
        return "for a request in HTTP/1.0, as proxies send it,"
    # A page elsewhere can point its own name at 127.0.0.1 and read us through a browser.
    hosts = connection.headers.getlist("host")
    if len(hosts) == 1 and _name(hosts[0]) in (*LOOPBACK_NAMES, *names):
        return ""
    return "under another name than localhost or those of server.names"


def from_proxy(connection: HTTPConnection, proxies: Sequence[Network]) -> bool:
    """Tell whether it comes from one of the listed proxies."""
    if not connection.client:
        return False
    try:
        address = ipaddress.ip_address(connection.client.host)
    except ValueError:
        return False
    return any(address in network for network in proxies)


def client_of(connection: HTTPConnection, proxies: Sequence[Network]) -> str:
    """Return the address of the client; a listed proxy is believed about the last hop before it."""
    passed = connection.headers.getlist("x-forwarded-for")
    if passed and from_proxy(connection, proxies):
        return passed[-1].rpartition(",")[2].strip()
    return connection.client.host if connection.client else ""


def is_encrypted(connection: HTTPConnection, proxies: Sequence[Network]) -> bool:
    """Tell whether the client speaks TLS, to us or to a listed proxy."""
    if connection.scope["scheme"] in ("https", "wss"):
        return True
    return connection.headers.get("x-forwarded-proto") == "https" and from_proxy(connection, proxies)


def same_origin(headers: Headers, names: Collection[str]) -> bool | None:
    """Tell whether a browser sends this for a page of ours; None when it does not look like a browser."""
    site = headers.get("sec-fetch-site")  # no page can forge it
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return None
    try:
        parts = urlsplit(origin)
        return parts.netloc.lower() == headers.get("host", "").lower() or parts.hostname in names
    except ValueError:
        return False


def _name(host: str) -> str:
    return (host if host.endswith("]") else host.rpartition(":")[0] or host).lower()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
