"""Random tokens: an identifier to find them by, and a secret of which only the hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from vigie.server.auth.secrets_file import SecretsFile

TOKEN, SESSION, LINK = "token", "session", "link"


SESSION_SECONDS = 7 * 86400
LINK_SECONDS = 600
MAX_SESSIONS = 50  # of one account at a time; the oldest ends first
PREFIX = "vigie_"
MAX_TOKEN = 200  # characters; ours have about 70


class Sessions:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def open(self, account: str) -> str:
        """Return the token of a new session."""
        self._tokens.drop_expired()
        self._tokens.keep_newest(SESSION, account, MAX_SESSIONS - 1)
        return self._tokens.new(SESSION, account, SESSION_SECONDS)

    def account(self, token: str) -> str | None:
        found = self._tokens.find(token)
        return found.owner if found and found.kind == SESSION else None

    def end(self, token: str) -> None:
        found = self._tokens.find(token)
        if found and found.kind == SESSION:
            self._tokens.drop(found.id)

    def link(self, account: str) -> str:
        """Return a token that opens a session once, within ten minutes."""
        self._tokens.keep_newest(LINK, account, MAX_SESSIONS - 1)
        return self._tokens.new(LINK, account, LINK_SECONDS)

    def redeem(self, token: str) -> str | None:
        """Return the token of a new session for that of a link, which is then worth nothing."""
        found = self._tokens.find(token)
        if not found or found.kind != LINK or not self._tokens.drop(found.id):
            return None
        return self.open(found.owner)


class StoredToken(NamedTuple):
    """A token that was shown and is right."""

    id: str
    kind: str
    owner: str
    used: bool


class Tokens:
    """Makes tokens and knows them again.

    They are 256 random bits, which nobody guesses: one SHA-256 is enough, so that a thousand agents can come
    back at once. Passwords, which can be guessed, are kept by scrypt.
    """

    def __init__(self, file: SecretsFile, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = file, clock

    def new(self, kind: str, owner: str, seconds: float | None = None) -> str:
        """Return a new token, which expires after so long or never."""
        name, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        now = int(self._clock())
        self._file.write(
            "INSERT INTO token (id, kind, owner, hash, made, expires) VALUES (?, ?, ?, ?, ?, ?)",
            name,
            kind,
            owner,
            _hash(secret),
            now,
            None if seconds is None else now + int(seconds),
        )
        return f"{PREFIX}{name}.{secret}"

    def find(self, token: str) -> StoredToken | None:
        """Return what the token stands for, or nothing when it is unknown or has expired."""
        if not token.startswith(PREFIX) or len(token) > MAX_TOKEN or not token.isascii():
            return None
        name, _, secret = token[len(PREFIX) :].partition(".")
        query = "SELECT hash, kind, owner, used, expires FROM token WHERE id = ?"
        for kept, kind, owner, used, expires in self._file.read(query, name):
            if hmac.compare_digest(kept, _hash(secret)) and (expires is None or self._clock() < expires):
                return StoredToken(name, kind, owner, bool(used))
        return None

    def drop(self, name: str) -> bool:
        """Let a token be valid no more; tell whether it was there, so that only one can use it up."""
        return self._file.write("DELETE FROM token WHERE id = ?", name) > 0

    def drop_all(self, owner: str, *kinds: str) -> int:
        """Let all tokens of some kinds of one owner be valid no more, and return how many there were."""
        return sum(
            self._file.write("DELETE FROM token WHERE owner = ? AND kind = ?", owner, kind) for kind in kinds
        )

    def drop_expired(self) -> None:
        self._file.write("DELETE FROM token WHERE expires <= ?", int(self._clock()))

    def keep_newest(self, kind: str, owner: str, most: int) -> None:
        """Forget all but the newest of one kind and owner that were not used yet."""
        self._file.write(
            "DELETE FROM token WHERE place IN (SELECT place FROM token WHERE kind = ? AND owner = ? "
            "AND NOT used ORDER BY place DESC LIMIT -1 OFFSET ?)",
            kind,
            owner,
            most,
        )

    def take_over(self, found: StoredToken) -> None:
        """Let a token replace the older ones of its kind and owner, now that it is in use."""
        with self._file.changes():
            self._file.write(
                "DELETE FROM token WHERE kind = ? AND owner = ? AND place < "
                "(SELECT place FROM token WHERE id = ?)",
                found.kind,
                found.owner,
                found.id,
            )
            self._file.write("UPDATE token SET used = 1 WHERE id = ?", found.id)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
