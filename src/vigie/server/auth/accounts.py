"""Accounts: people with a password, and programs with a token."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from vigie.server.auth import passwords
from vigie.server.auth.secrets_file import SecretsError, SecretsFile
from vigie.server.auth.tokens import LINK, SESSION, TOKEN, Tokens

ROLES = ("viewer", "user", "admin", "writer")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")


class Account(NamedTuple):
    """Somebody who may sign in."""

    name: str
    role: str
    password: str | None
    made: int


class Accounts:
    """Adds, changes and removes accounts; what an account had is gone with it."""

    def __init__(self, file: SecretsFile, tokens: Tokens) -> None:
        self._file, self._tokens = file, tokens

    def every(self) -> list[Account]:
        rows = self._file.read("SELECT name, role, password, made FROM account ORDER BY name")
        return [Account(*row) for row in rows]

    def find(self, name: str) -> Account | None:
        if not NAME.fullmatch(name):
            return None
        rows = self._file.read("SELECT name, role, password, made FROM account WHERE name = ?", name)
        return Account(*rows[0]) if rows else None

    def add(self, name: str, role: str, password: str | None = None) -> None:
        """Add an account; one without a password signs in by token only."""
        if not NAME.fullmatch(name):
            raise SecretsError(f"{name!r} is no name: letters, digits, and _ . @ - within, at most 64")
        if role not in ROLES:
            raise SecretsError(f"{role!r} is no role: {', '.join(ROLES)}")
        kept = None if password is None else _hash_password(password)
        with self._file.changes():
            if self.find(name):
                raise SecretsError(
                    f"{name} is there already; to change the password: vigie users passwd {name}"
                )
            self._file.write(
                "INSERT INTO account (name, role, password, made) VALUES (?, ?, ?, ?)",
                name,
                role,
                kept,
                int(time.time()),
            )

    def remove(self, name: str) -> None:
        """Remove an account with its tokens and sessions; the last admin stays."""
        with self._file.changes():
            account = self._there(name)
            admins = [other for other in self.every() if other.role == "admin"]
            if admins == [account]:
                raise SecretsError(
                    f"{name} is the last admin; add another first: vigie users add NAME --role admin"
                )
            self._tokens.drop_all(name, TOKEN, SESSION, LINK)
            self._file.write("DELETE FROM account WHERE name = ?", name)

    def set_password(self, name: str, password: str) -> None:
        """Change the password, and end every session of the account."""
        kept = _hash_password(password)
        with self._file.changes():
            self._there(name)
            self._tokens.drop_all(name, SESSION, LINK)
            self._file.write("UPDATE account SET password = ? WHERE name = ?", kept, name)

    def new_token(self, name: str) -> str:
        """Return a token of the account, which is shown once and never again."""
        self._there(name)
        return self._tokens.new(TOKEN, name)

    def _there(self, name: str) -> Account:
        account = self.find(name)
        if account is None:
            raise SecretsError(f"there is no {name}; those there are: vigie users list")
        return account


def _hash_password(password: str) -> str:
    why = passwords.password_problem(password)
    if why:
        raise SecretsError(why)
    return passwords.hash_password(password)
