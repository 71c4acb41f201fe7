"""The secret that a scraper beyond loopback must show."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def scrape_token(data: Path) -> tuple[str, Path]:
    """Return the token and its file; both are made, for the owner's eyes only, when missing."""
    path = data / "scrape-token"
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return _kept(path), path
    except FileNotFoundError:
        pass
    partial = data / f".scrape-token.{os.getpid()}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
        file.flush()
        os.fsync(descriptor)
    try:
        os.link(partial, path)  # unlike a rename, this loses to another agent that was quicker
    except FileExistsError:
        pass
    finally:
        partial.unlink()
    return _kept(path), path


def _kept(path: Path) -> str:
    with path.open() as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise PermissionError(f"{path} can be read by others: chmod 600 it")
        token = file.read().strip()
    if not token:
        raise ValueError(f"{path} is empty: delete it, and a new token is made")
    return token
