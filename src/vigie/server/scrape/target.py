"""What is scraped: an address, a path, and the labels that every series of it gets."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import NamedTuple

from vigie.server.scrape.networks import is_ordinary, parse_address

MAX_LABELS = 64
MAX_TEXT = 1024  # characters in a label's value
PATH = "__metrics_path__"
SCHEME = "__scheme__"
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z_.-]+):([0-9]{1,5})")


class InvalidTargetError(ValueError):
    """Something that cannot be scraped; the message says why."""


class Target(NamedTuple):
    """One exporter; its labels have `instance` and `job` among them."""

    address: str  # HOST:PORT
    labels: Mapping[str, str]
    path: str = "/metrics"
    scheme: str = "http"

    @property
    def url(self) -> str:
        """Return where it is scraped, which is also what tells it from others."""
        return f"{self.scheme}://{self.address}{self.path}"

    @property
    def host(self) -> str:
        """Return the address without its port."""
        return host_of(self.address)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def discovered(self) -> dict[str, str]:
        """Return the labels as a Prometheus is told them, where to look among them."""
        how = {PATH: self.path} if self.path != "/metrics" else {}
        if self.scheme != "http":
            how[SCHEME] = self.scheme
        return {**self.labels, **how}


def target_of(address: str, labels: Mapping[str, str]) -> Target:
    """Return the target that is asked for, or raise BadTarget."""
    host = host_of(_checked_address(address))
    names = {name: value for name, value in labels.items() if value}
    path, scheme = names.pop(PATH, "/metrics"), names.pop(SCHEME, "http")
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise InvalidTargetError(f"{PATH} {path!r} should be a path such as /metrics")
    if scheme not in ("http", "https"):
        raise InvalidTargetError(f"{SCHEME} {scheme!r} should be http or https")
    _check_labels(names)
    # The node's name, so that what an agent and the exporters of one node say can be joined.
    names.setdefault("instance", names.get("hostname", host))
    return Target(address, dict(sorted(names.items())), path, scheme)


def host_of(address: str) -> str:
    """Return the host of an address, without port and brackets, an IP address in its usual spelling."""
    host = address.rpartition(":")[0].strip("[]")
    return same_host(host)


def same_host(host: str) -> str:
    """Return the one spelling of a host that all its spellings are compared by."""
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return host.lower()


def _checked_address(address: str) -> str:
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match.group(2)) < 65536:
        raise InvalidTargetError(
            f"the target {address[:80]!r} should be an address and a port, such as 10.0.0.1:9100"
        )
    ip = parse_address(match.group(1))
    if ip is not None and not is_ordinary(ip):  # a name is judged when it is resolved
        raise InvalidTargetError(f"{address} is no address of an exporter")
    return address


def _check_labels(labels: Mapping[str, str]) -> None:
    if not labels.get("job"):
        raise InvalidTargetError(
            'the label job is missing: the name of the exporter, such as "node-exporter"'
        )
    if len(labels) > MAX_LABELS:
        raise InvalidTargetError(f"{len(labels)} labels, and the bound is {MAX_LABELS}")
    for name, value in labels.items():
        if not _NAME.fullmatch(name) or name.startswith("__"):
            raise InvalidTargetError(f"{name[:80]!r} is no name for a label")
        if len(value) > MAX_TEXT or not _is_unicode(value):
            raise InvalidTargetError(f"the value of the label {name} is too long, or no valid text")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
