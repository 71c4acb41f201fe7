"""Addresses that no exporter has are refused in every spelling; a list of networks is the last word."""

from __future__ import annotations

import pytest

from vigie.server.scrape.networks import AddressNotAllowedError, ScrapeNetworks, parse_address, parse_networks
from vigie.server.scrape.target import InvalidTargetError, target_of


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "ff02::1",
        "240.0.0.1",
        "255.255.255.255",
    ],
)
def test_address_of_no_exporter_is_refused(address: str) -> None:
    with pytest.raises(AddressNotAllowedError):
        ScrapeNetworks().allowed([address])


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "fd12::1", "2001:db8::1"])
def test_address_where_exporters_are_is_allowed(address: str) -> None:
    assert ScrapeNetworks().allowed([address]) == [address]


def test_listed_networks_are_the_only_ones() -> None:
    listed = parse_networks(["10.0.0.0/8", "fd12::/16"])
    assert listed.allowed(["10.1.1.1", "11.1.1.1", "::ffff:10.2.2.2", "fd12::7"]) == [
        "10.1.1.1",
        "::ffff:10.2.2.2",
        "fd12::7",
    ]
    with pytest.raises(AddressNotAllowedError, match=r"127\.0\.0\.1 may"):
        listed.allowed(["127.0.0.1"])


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "2852039166",
        "0xA9FEA9FE",
        "169.16689662",
        "[::ffff:a9fe:a9fe]",
        "0",
        "0.0.0.0",
        "[::]",
    ],
)
def test_target_with_such_an_address_is_not_registered(host: str) -> None:
    with pytest.raises(InvalidTargetError, match="no address of an exporter"):
        target_of(f"{host}:80", {"job": "x"})


def test_name_is_no_address() -> None:
    assert parse_address("node1.cluster") is None
    assert target_of("node1.cluster:9100", {"job": "x"}).host == "node1.cluster"
