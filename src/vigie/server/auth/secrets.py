"""Everything that must be shown to get in: made at the first start, kept hashed, and known again."""

from __future__ import annotations

import hmac
import logging
import secrets
from pathlib import Path

from vigie.common.token_file import read_token
from vigie.server.auth.accounts import Accounts
from vigie.server.auth.passwords import PasswordChecker
from vigie.server.auth.secrets_file import SecretsError, SecretsFile
from vigie.server.auth.tokens import TOKEN, Sessions, StoredToken, Tokens
from vigie.server.identity import Identity

log = logging.getLogger(__name__)

ADMIN = "admin"
ADMIN_FILE = "server-token"  # what the command line shows; whoever may read the file is the admin
JOIN_FILE = "join-token"
NODE_KEY = "node"
UNUSED_KEYS = 4  # of one node; an agent that asks again and again must not fill the disk


class Secrets:
    def __init__(self, directory: Path) -> None:
        self.admin_file = directory / ADMIN_FILE
        self._admin_token = read_token(self.admin_file)
        self._join_token = read_token(directory / JOIN_FILE)
        self._file = SecretsFile(directory)
        self._tokens = Tokens(self._file)
        self._checker = PasswordChecker()
        self.accounts = Accounts(self._file, self._tokens)
        self.sessions = Sessions(self._tokens)
        self.first_password = self._first_password()

    def close(self) -> None:
        self._file.close()

    @property
    def join_token(self) -> str:
        """Return what a new node shows to get a key of its own."""
        return self._join_token

    def identify(self, token: str) -> Identity | None:
        shown = token.encode("utf-8", "surrogatepass")
        if hmac.compare_digest(shown, self._admin_token.encode()):
            return Identity("admin", ADMIN)
        if hmac.compare_digest(shown, self._join_token.encode()):
            return Identity("join", "")
        found = self._tokens.find(token)
        if found and found.kind == NODE_KEY:
            if not found.used:
                self._take_over(found)
            return Identity("node", found.owner)
        return self.identity_of(found.owner) if found and found.kind == TOKEN else None

    def identity_of(self, account: str | None) -> Identity | None:
        found = self.accounts.find(account) if account else None
        return Identity(found.role, found.name) if found else None

    def identify_session(self, token: str) -> Identity | None:
        return self.identity_of(self.sessions.account(token))

    def recall(self, name: str, password: str) -> Identity | None:
        """Return who this is if the password was checked before; this is quick."""
        account = self.accounts.find(name)
        if account and self._checker.knows(account.password, password):
            return Identity(account.role, account.name)
        return None

    def check(self, name: str, password: str) -> Identity | None:
        """Return who this is if the password is right; this takes its time, on purpose."""
        account = self.accounts.find(name)
        right = self._checker.check(account.password if account else None, password)
        return Identity(account.role, account.name) if account and right else None

    def new_node_key(self, node: str) -> str:
        """Return a new key of a node; the one before stays valid until this one is used."""
        with self._file.changes():  # one sync for both: a thousand nodes may join at once
            self._tokens.keep_newest(NODE_KEY, node, UNUSED_KEYS - 1)
            return self._tokens.new(NODE_KEY, node)

    def revoke(self, node: str) -> None:
        """Let every key of a node be valid no more."""
        self._tokens.drop_all(node, NODE_KEY)

    def take_password(self, password: str) -> None:
        """Let this be the admin's password, as a file that the configuration names says."""
        account = self.accounts.find(ADMIN)
        if account and self._checker.check(account.password, password):
            return
        self.first_password = None
        self.accounts.set_password(ADMIN, password)

    def _take_over(self, found: StoredToken) -> None:
        try:
            self._tokens.take_over(found)
        except SecretsError as error:  # a full disk must not keep a node out; next time, then
            log.warning("the older keys of %s stay valid: %s", found.owner, error)

    def _first_password(self) -> str | None:
        """Return the admin's password if it is made now; it cannot be read again."""
        if self.accounts.every():
            return None
        password = secrets.token_urlsafe(15)
        self.accounts.add(ADMIN, "admin", password)
        return password
