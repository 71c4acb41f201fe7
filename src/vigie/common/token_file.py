"""Secrets that clients must show, each in a file for its owner's eyes only."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from pathlib import Path


def scrape_token(data: Path) -> tuple[str, Path]:
    """Return the token that a scraper beyond loopback must show, and its file."""
    path = data / "scrape-token"
    return read_token(path), path


def read_token(path: Path) -> str:
    """Return the token that the file holds; both are made, for the owner's eyes only, when missing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return load_or_create_token(path)
    except FileNotFoundError:
        pass
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # for nobody else's eyes
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
        file.flush()
        os.fsync(descriptor)
    try:
        os.link(partial, path)  # unlike a rename, this loses to another process that was quicker
    except FileExistsError:
        pass
    finally:
        os.unlink(partial)
    return load_or_create_token(path)


def load_or_create_token(path: Path) -> str:
    """Return the token of a file that is there already."""
    with path.open() as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise PermissionError(f"{path} can be read by others: chmod 600 it")
        token = file.read().strip()
    if not token:
        raise ValueError(f"{path} is empty: delete it, and a new token is made")
    return token
