"""Finds sources: in the modules of our packages, and in the files of the operator's directories."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import stat
from collections.abc import Collection, Iterable, Iterator

import vigie.sources
from vigie.sources.core.source import Source

PACKAGES = ("vigie.sources", "vigie.workload")


class InvalidSourceError(Exception):
    """A file without a valid source; the message says which and why."""


def load_builtin(asked_for: Collection[str] | None = None) -> Iterator[Source]:
    """Yield the built-in sources; of the optional ones all, or only those asked for by name."""
    for package in PACKAGES:
        for name in _modules(importlib.import_module(package).__path__):
            source = getattr(importlib.import_module(f"{package}.{name}"), "SOURCE", None)
            if source is not None:  # else it helps others
                yield source
    for name in optional_names():
        if asked_for is None or name in asked_for:
            yield importlib.import_module(f"vigie.sources.optional.{name}").SOURCE


def optional_names() -> list[str]:
    """Return the names of the sources that are off unless asked for, without importing any."""
    return list(_modules(os.path.join(path, "optional") for path in vigie.sources.__path__))


def _modules(path: Iterable[str]) -> Iterator[str]:
    for module in pkgutil.iter_modules(path):
        if not module.ispkg and not module.name.startswith("_"):
            yield module.name


def load_directory(directory: str) -> Iterator[Source]:
    """Yield the sources in a directory, one per .py file."""
    _check_owner(directory)
    for name in sorted(os.listdir(directory)):
        if name.endswith(".py") and not name.startswith("_"):
            yield _load(os.path.join(directory, name))


def find_sources(directories: Iterable[str] = (), asked_for: Collection[str] | None = None) -> list[Source]:
    """Return all sources by name; a file of the operator's replaces ours of the same name.

    Given which are asked for, the other optional ones are left out, and not imported.
    """
    found: dict[str, Source] = {source.name: source for source in load_builtin(asked_for)}
    for directory in directories:
        found.update((source.name, source) for source in load_directory(directory))
    return sorted(found.values(), key=lambda source: source.name)


def _load(path: str) -> Source:
    _check_owner(path)
    spec = importlib.util.spec_from_file_location(f"vigie_source_{os.path.basename(path)[:-3]}", path)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidSourceError(f"{path}: {type(error).__name__}: {error}") from error
    source = getattr(module, "SOURCE", None)
    if not isinstance(source, Source):
        raise InvalidSourceError(f"{path} defines no SOURCE: see docs/how-to/own-sources.md")
    return source


def _check_owner(path: str) -> None:
    """Raise InvalidSourceError for code that another user could have written."""
    status = os.stat(path)
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InvalidSourceError(f"{path} is writable by another user: chown it to yourself and chmod go-w")
