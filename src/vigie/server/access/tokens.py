"""Random tokens: an identifier to find them by, and a secret of which only the hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from vigie.server.access.secrets_file import SecretsFile

PREFIX = "vigie_"
MOST = 200  # characters; ours have about 70


class Found(NamedTuple):
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

    def find(self, token: str) -> Found | None:
        """Return what the token stands for, or nothing when it is unknown or has expired."""
        if not token.startswith(PREFIX) or len(token) > MOST or not token.isascii():
            return None
        name, _, secret = token[len(PREFIX) :].partition(".")
        query = "SELECT hash, kind, owner, used, expires FROM token WHERE id = ?"
        for kept, kind, owner, used, expires in self._file.read(query, name):
            if hmac.compare_digest(kept, _hash(secret)) and (expires is None or self._clock() < expires):
                return Found(name, kind, owner, bool(used))
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
        """Forget what has expired."""
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

    def take_over(self, found: Found) -> None:
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
