"""Which addresses may be scraped; judged when they are resolved, whatever the target is called."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence
from typing import NamedTuple

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
# Where clouds keep the credentials of a machine beside link-local addresses; no exporter is there.
METADATA = frozenset(
    map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"))
)
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressNotAllowedError(ValueError):
    """An address that may not be scraped; the message names it."""


class ScrapeNetworks(NamedTuple):
    """The networks that may be scraped; none: every address where an exporter can be."""

    networks: tuple[IpNetwork, ...] = ()

    def allowed(self, addresses: Sequence[str]) -> list[str]:
        """Return those of a host's addresses that may be scraped, or raise AddressNotAllowedError."""
        found = [address for address in addresses if self._allows(address)]
        if addresses and not found:
            raise AddressNotAllowedError(f"{addresses[0]} may not be scraped (scrape.networks)")
        return found

    def _allows(self, address: str) -> bool:
        ip = plain_address(ipaddress.ip_address(address.partition("%")[0]))
        return any(ip in network for network in self.networks) if self.networks else is_ordinary(ip)


def parse_networks(entries: Iterable[str]) -> ScrapeNetworks:
    """Return the networks, or raise ValueError."""
    return ScrapeNetworks(tuple(ipaddress.ip_network(entry.strip(), strict=False) for entry in entries))


def parse_address(host: str) -> IpAddress | None:
    """Return the address that a host spells, as the resolver reads it: 127.1 and 2130706433 are some."""
    try:
        return plain_address(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def plain_address(ip: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 address stands for, or itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else ip)


def is_ordinary(ip: IpAddress) -> bool:
    """Tell whether an exporter may listen there."""
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip in METADATA:
        return False
    return ip.is_loopback or not ip.is_reserved
