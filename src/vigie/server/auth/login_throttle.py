"""A bound on failed sign-ins, so that guessing takes years."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

SECONDS = 300.0  # after which failures are forgotten
OF_AN_ADDRESS = 10
OF_AN_ACCOUNT = 100  # more, because a stranger can use them up for its owner
KEPT = 10_000


class LoginThrottle:
    """Counts failures of each address and each account, of the newest few thousand."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        self._told: OrderedDict[tuple[str, str], float] = OrderedDict()

    def wait(self, address: str, account: str) -> int:
        """Return for how many seconds this address, or anybody for this account, must not try again."""
        return max(self._left(*key) for key in _keys(address, account))

    def tries(self, address: str, account: str) -> None:
        """Count a try before it is made, so that many at once do not slip through."""
        for key, _ in _keys(address, account):
            count, since = self._failures.pop(key, (0, 0.0))
            now = self._clock()
            if now - since >= SECONDS:
                count, since = 0, now
            self._failures[key] = (count + 1, since)
        while len(self._failures) > KEPT:
            self._failures.popitem(last=False)

    def succeeded(self, address: str, account: str) -> None:
        """Take back one try; failures before it stay, or a stranger's own account would wash them off."""
        for key, _ in _keys(address, account):
            if key in self._failures:
                count, since = self._failures[key]
                self._failures[key] = (count - 1, since)

    def news(self, address: str, account: str) -> bool:
        """Tell whether a wait has just begun that was not told yet."""
        new = False
        for key, most in _keys(address, account):
            since = self._failures.get(key, (0, 0.0))[1]
            if self._left(key, most) and self._told.get(key) != since:
                self._told[key], new = since, True
        while len(self._told) > KEPT:
            self._told.popitem(last=False)
        return new

    def _left(self, key: tuple[str, str], most: int) -> int:
        count, since = self._failures.get(key, (0, 0.0))
        left = since + SECONDS - self._clock()
        return int(left) + 1 if count >= most and left > 0 else 0


def _keys(address: str, account: str) -> tuple[tuple[tuple[str, str], int], ...]:
    return (("address", _network(address)), OF_AN_ADDRESS), (("account", account[:64]), OF_AN_ACCOUNT)


def _network(address: str) -> str:
    """Return what one client can be expected to have: an IPv4 address, or an IPv6 network of 64 bits."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if found.version == 4:
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))
