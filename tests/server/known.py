"""Secrets that a test knows."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vigie.server.auth.accounts import Accounts
from vigie.server.auth.secrets import Secrets
from vigie.server.auth.secrets_file import SecretsFile
from vigie.server.auth.tokens import Tokens


@contextlib.contextmanager
def known_secrets(token: str) -> Iterator[Secrets]:
    """Give secrets whose admin token is known; no password is made, because that takes its time."""
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "server-token").touch(0o600)
        (Path(home) / "server-token").write_text(token)
        with contextlib.closing(SecretsFile(Path(home))) as file:
            Accounts(file, Tokens(file)).add("admin", "admin")
        with contextlib.closing(Secrets(Path(home))) as secrets:
            yield secrets
