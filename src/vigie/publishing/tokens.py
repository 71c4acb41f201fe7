"""Which tokens go where: the server's for looking, the agents' for scraping."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from vigie.common.token_file import load_or_create_token
from vigie.publishing.options import InvalidOptionError, PublishTokens
from vigie.server.auth.accounts import Accounts
from vigie.server.auth.secrets_file import SecretsFile
from vigie.server.auth.tokens import Tokens as AccessTokens

ACCOUNT = "publish"  # a viewer: whoever reads the files may look, and change nothing
MAX_NODES = 20_000


def load_tokens(
    root: Path, token_file: Path | None, scrape_tokens: Path | None, new: Callable[[], str]
) -> PublishTokens:
    """Return the tokens that are to be published.

    The server's is what `token_file` holds, else what was published before, else a new one, if there can be.
    """
    agents, nodes = "", {}
    if scrape_tokens and scrape_tokens.is_dir():
        names = sorted(entry.name for entry in os.scandir(scrape_tokens) if entry.is_file())
        nodes = {
            name: load_or_create_token(scrape_tokens / name) for name in names[:MAX_NODES] if name[0] != "."
        }
    elif scrape_tokens:
        agents = load_or_create_token(scrape_tokens)
    return PublishTokens(_of_server(root, token_file, new), agents, nodes)


def _of_server(root: Path, token_file: Path | None, new: Callable[[], str]) -> str:
    try:
        return load_or_create_token(token_file or root / "credentials" / "server")
    except FileNotFoundError:
        if token_file:
            raise
        return new()


def viewer_token(data: Path) -> str:
    """Return a new token for looking at the server whose directory this is."""
    file = SecretsFile(data, make=False)
    try:
        accounts = Accounts(file, AccessTokens(file))
        account = accounts.find(ACCOUNT)
        if account is None:
            accounts.add(ACCOUNT, "viewer")
        elif account.role != "viewer":
            raise InvalidOptionError(
                f"the account {ACCOUNT} of the server is no viewer; give a viewer's token with --token-file"
            )
        return accounts.new_token(ACCOUNT)
    finally:
        file.close()
