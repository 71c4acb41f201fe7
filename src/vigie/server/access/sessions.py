"""Sessions of browsers, and links that open one once; both outlive a restart of the server."""

from __future__ import annotations

from vigie.server.access.accounts import LINK, SESSION
from vigie.server.access.tokens import Tokens

SESSION_SECONDS = 7 * 86400
LINK_SECONDS = 600
MOST = 50  # of one account at a time; the oldest ends first


class Sessions:
    """Opens and ends sessions."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def open(self, account: str) -> str:
        """Return the token of a new session."""
        self._tokens.drop_expired()
        self._tokens.keep_newest(SESSION, account, MOST - 1)
        return self._tokens.new(SESSION, account, SESSION_SECONDS)

    def account(self, token: str) -> str | None:
        """Return whose session it is."""
        found = self._tokens.find(token)
        return found.owner if found and found.kind == SESSION else None

    def end(self, token: str) -> None:
        """End a session."""
        found = self._tokens.find(token)
        if found and found.kind == SESSION:
            self._tokens.drop(found.id)

    def link(self, account: str) -> str:
        """Return a token that opens a session once, within ten minutes."""
        self._tokens.keep_newest(LINK, account, MOST - 1)
        return self._tokens.new(LINK, account, LINK_SECONDS)

    def redeem(self, token: str) -> str | None:
        """Return the token of a new session for that of a link, which is then worth nothing."""
        found = self._tokens.find(token)
        if not found or found.kind != LINK or not self._tokens.drop(found.id):
            return None
        return self.open(found.owner)
