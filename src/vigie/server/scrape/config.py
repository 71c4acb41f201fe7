"""How targets are scraped: how often, how much at most, and what they are shown of us."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Iterable
from typing import NamedTuple

from vigie import __version__
from vigie.common.endpoint import Endpoint, Secret, TlsOptions
from vigie.server.scrape.client import ScrapeError, TargetAddress
from vigie.server.scrape.networks import ScrapeNetworks
from vigie.server.scrape.target import Target, same_host

# What a Prometheus asks for, so that an exporter spells its labels alike for both.
ACCEPT = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


class ScrapeCredentials(NamedTuple):
    """What some exporters ask for; it is shown to these hosts alone, as anybody who joins adds targets."""

    user: str = ""
    password: Secret = Secret()
    token: Secret = Secret()
    hosts: tuple[str, ...] = ()

    def are_for(self, host: str) -> bool:
        """Tell whether a host is among the hosts, by name, by address or by network."""
        return any(_fits(host, entry) for entry in self.hosts)


class ScrapeConfig(NamedTuple):
    interval: float = 10.0
    timeout: float = 10.0
    most_samples: int = 100_000  # in one scrape; 0: no bound
    most_bytes: int = 32 << 20
    honor_labels: bool = False
    honor_times: bool = True
    credentials: ScrapeCredentials = ScrapeCredentials()
    tls: TlsOptions = TlsOptions()
    networks: ScrapeNetworks = ScrapeNetworks()

    def headers(self, target: Target) -> dict[str, str]:
        """Return the headers of a request; secrets are read anew, so that they can be changed."""
        usual = {
            "User-Agent": f"vigie/{__version__}",
            "Accept": ACCEPT,
            "Accept-Encoding": "gzip",
            "X-Prometheus-Scrape-Timeout-Seconds": f"{self.timeout:g}",
        }
        shown = self.credentials
        if not shown.are_for(target.host):
            return usual
        try:
            peer = Endpoint(target.url, user=shown.user, password=shown.password, token=shown.token)
            return usual | peer.request_headers()
        except (OSError, UnicodeDecodeError) as error:
            raise ScrapeError(f"cannot read a secret: {error}") from None

    def place(self, target: Target, tls: Callable[[], ssl.SSLContext]) -> TargetAddress:
        secure = tls() if target.scheme == "https" else None
        return TargetAddress(
            target.host, target.port, target.path, secure, self.tls.server_name, self.networks
        )


def networks(entries: Iterable[str]) -> tuple[str, ...]:
    """Return hosts and networks as they are compared."""
    return tuple(same_host(entry.strip()) for entry in entries if entry.strip())


def _fits(host: str, entry: str) -> bool:
    if "/" not in entry:
        return host == entry
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
