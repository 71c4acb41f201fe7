"""Copies a data directory while a server runs on it: the store, and what the server knows besides."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from vigie.store import backup as store
from vigie.store.directory_lock import sync_directory
from vigie.store.errors import StoreError
from vigie.store.filesystem import STORE_DIRECTORY

# Nodes, events, bindings, targets and accounts; and secrets, without which no agent is known again.
DATABASES = ("*.sqlite", "*.db")
SECRETS = ("server-token", "join-token", "privacy-key")


def backup(data: Path, destination: Path, progress: store.Progress) -> int:
    """Copy everything into a new directory, for its owner alone; return the bytes that it has."""
    if destination.exists():
        raise StoreError(f"{destination} exists; a backup goes into a new directory")
    fresh = destination.with_name(destination.name + ".partial")
    shutil.rmtree(fresh, ignore_errors=True)  # of a backup that was broken off
    umask = os.umask(0o077)
    try:
        fresh.mkdir(parents=True)
        _copy_beside(data, fresh, progress)
        store.backup(data / STORE_DIRECTORY, fresh / STORE_DIRECTORY, progress)
        sync_directory(fresh)
        fresh.rename(destination)
        sync_directory(destination.absolute().parent)
    except OSError as error:
        raise StoreError(f"cannot write the backup {destination}: {error.strerror or error}") from error
    finally:
        os.umask(umask)
    return sum(path.stat().st_size for path in destination.rglob("*") if path.is_file())


def _copy_beside(data: Path, fresh: Path, progress: store.Progress) -> None:
    for pattern in DATABASES:
        for path in sorted(data.glob(pattern)):
            store.copy_database(path, fresh / path.name, progress)
    for name in SECRETS:
        if (data / name).is_file():
            store.copy_file(data / name, fresh / name)
