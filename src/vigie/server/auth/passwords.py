"""Passwords: kept as scrypt with a salt each, and checked at a price that guessing cannot pay."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict

COST, BLOCK, LANES = 1 << 14, 8, 1  # 16 MB and about 80 ms for each try
MEMORY = 64 << 20
MIN_PASSWORD, MAX_PASSWORD = 8, 1024  # characters
REMEMBERED = 256


def hash_password(password: str) -> str:
    """Return what to keep of a password."""
    salt = secrets.token_bytes(16)
    return _encode_hash(salt, _key(password, salt, COST))


def password_problem(password: str) -> str:
    """Return why a password cannot be taken, or nothing."""
    if len(password) < MIN_PASSWORD:
        return f"a password has at least {MIN_PASSWORD} characters"
    if len(password) > MAX_PASSWORD or not password.isprintable():
        return f"a password has at most {MAX_PASSWORD} characters, all of which can be printed"
    return ""


def first_line(text: str) -> str:
    """Return the password that a file or a pipe holds: its first line."""
    return text.splitlines()[0] if text else ""


class PasswordChecker:
    """Checks passwords; one that was right lately is known again without its price.

    A client that shows its password with every request would otherwise cost 80 ms each time. What is
    remembered is a keyed hash over what is kept of the password, so a changed one is forgotten by itself.
    """

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._most = remembered
        self._key = secrets.token_bytes(32)
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._turn = threading.Lock()

    def knows(self, kept: str | None, password: str) -> bool:
        """Tell whether the password was found right before; this is quick."""
        mark = self._mark(kept or "", password)
        with self._turn:
            if mark not in self._right:
                return False
            self._right.move_to_end(mark)
            return True

    def check(self, kept: str | None, password: str) -> bool:
        """Tell whether it is the password; this takes as long when there is no such account."""
        if len(password) > MAX_PASSWORD:
            return False
        right = _matches(kept or NOBODY, password)
        if not right or not kept:
            return False
        with self._turn:
            self._right[self._mark(kept, password)] = None
            while len(self._right) > self._most:
                self._right.popitem(last=False)
        return True

    def _mark(self, kept: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{kept}\0{password}".encode("utf-8", "surrogatepass"), "sha256")


def _encode_hash(salt: bytes, key: bytes) -> str:
    return "$".join(("scrypt", f"{COST},{BLOCK},{LANES}", _text(salt), _text(key)))


def _matches(kept: str, password: str) -> bool:
    _, costs, salt, key = kept.split("$")
    cost = int(costs.partition(",")[0])
    return hmac.compare_digest(_key(password, base64.b64decode(salt), cost), base64.b64decode(key))


def _key(password: str, salt: bytes, cost: int) -> bytes:
    secret = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=cost, r=BLOCK, p=LANES, maxmem=MEMORY, dklen=32)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


NOBODY = _encode_hash(bytes(16), bytes(32))  # no password gives it; checked when there is no such account
