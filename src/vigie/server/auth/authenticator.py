"""Tells who is calling: by token, password, session, a proxy's word, or by being on this machine."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import HTTPConnection

from vigie.model import Event
from vigie.server.auth.errors import HOW, AuthError
from vigie.server.auth.login_throttle import LoginThrottle
from vigie.server.auth.origin import Network, client_of, from_proxy, not_local
from vigie.server.auth.secrets import Secrets
from vigie.server.identity import Identity
from vigie.server.metrics import AuthMetrics
from vigie.server.privacy.redactor import Privacy

log = logging.getLogger(__name__)

COOKIE = "vigie_session"
ANYBODY = Identity("viewer", "")
AT_ONCE = 2  # passwords that are checked at the same time, each for about 80 ms of a core
WAITING = 20  # and those that may wait for it


class AuthPolicy(NamedTuple):
    """Which ways in there are besides tokens, passwords and sessions."""

    auth: str = "loopback"  # who may view without credentials: loopback, nobody (always), anybody (open)
    names: tuple[str, ...] = ()
    proxies: tuple[Network, ...] = ()
    user_header: str = ""
    vouching: bool = True  # agents are believed about who asks through them
    login_nodes: tuple[str, ...] = ()  # whose agents are believed also about users who hold nothing there


class Caller(NamedTuple):
    """Who it is, whether that was shown, and whether a browser shows it by itself."""

    identity: Identity
    shown: bool = True
    by_itself: bool = False


class Authenticator:
    """Knows callers by their secrets."""

    def __init__(
        self,
        secrets: Secrets,
        policy: AuthPolicy | None = None,
        throttle: LoginThrottle | None = None,
        waiting: int = WAITING,
        privacy: Privacy | None = None,
        record_event: Callable[[Event], None] = lambda _: None,
        simulated: bool = False,
    ) -> None:
        self.secrets, self.policy = secrets, policy or AuthPolicy()
        self.privacy, self.counts = privacy or Privacy(), AuthMetrics()
        self.simulated, self._record_event = simulated, record_event
        self._throttle = throttle or LoginThrottle()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting, self._most = 0, waiting

    async def find(self, connection: HTTPConnection) -> Caller:
        """Return who it is, or raise Refused."""
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            identity = self.secrets.identify(given.strip())
            if identity is None:
                self.counts.failed["token"] += 1
                raise AuthError(401, "this token is not known here, or no more")
            return Caller(identity)
        if name := self._proxy_user(connection):
            known = self.secrets.identity_of(name)
            return Caller(known or Identity("viewer", name), by_itself=True)
        if scheme.lower() == "basic":
            return Caller(await self.sign_in(connection, *_pair(given)), by_itself=True)
        if scheme:
            raise AuthError(401, "only Bearer and Basic are known here")
        session = self.secrets.identify_session(connection.cookies.get(COOKIE, ""))
        return Caller(session, by_itself=True) if session else self._stranger(connection)

    async def sign_in(self, connection: HTTPConnection, name: str, password: str) -> Identity:
        """Return who this is if the password is right, or raise Refused."""
        known = self.secrets.recall(name, password)
        if known:
            return known
        address = client_of(connection, self.policy.proxies)
        wait = self._throttle.wait(address, name)
        if wait or self._waiting >= self._most:
            self._throttled(address, name, wait)
            raise AuthError(429, "too many sign-ins have failed", wait or 1)
        self._throttle.tries(address, name)
        self._waiting += 1
        try:
            async with self._turns:
                identity = await asyncio.to_thread(self.secrets.check, name, password)
        finally:
            self._waiting -= 1
        if identity is None:
            self.counts.failed["password"] += 1
            log.warning("a sign-in from %s failed", address)  # the name may be a password typed too early
            raise AuthError(401, "name or password is wrong")
        self._throttle.succeeded(address, name)
        self.counts.signed += 1
        log.info("%s signed in from %s", identity.name, address)
        return identity

    def _throttled(self, address: str, name: str, wait: int) -> None:
        """Count it, and tell once for as long as it lasts; not whose account, which may be a password."""
        self.counts.throttled += 1
        if wait and self._throttle.news(address, name):
            what = f"too many sign-ins from {address or 'nowhere'} failed: none is looked at for {wait} s"
            now = time.time_ns() // 1_000_000
            self._record_event(
                Event("sign_in_throttled", now, what, {"address": address}, severity="warning")
            )

    def _proxy_user(self, connection: HTTPConnection) -> str:
        if not self.policy.user_header or not from_proxy(connection, self.policy.proxies):
            return ""
        names = connection.headers.getlist(self.policy.user_header)
        if len(names) > 1:
            raise AuthError(401, f"the header {self.policy.user_header} came more than once")
        return names[0].strip() if names else ""

    def _stranger(self, connection: HTTPConnection) -> Caller:
        if self.policy.auth == "open":
            return Caller(ANYBODY, shown=False)
        why = "here" if self.policy.auth == "always" else not_local(connection, self.policy.names)
        if why:
            raise AuthError(401, f"{why} you have to say who you are: {HOW}")
        return Caller(ANYBODY, shown=False)


def _pair(given: str) -> tuple[str, str]:
    try:
        name, colon, password = base64.b64decode(given.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise AuthError(401, "this is no name and password")
    return name, password
