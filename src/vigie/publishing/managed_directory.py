"""Writes files into a directory that others may use, too: what is theirs, or was changed by them, stays."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

NOTES = ".vigie-published"  # what we wrote, by path: how a file of ours is told from one of others
MAX_NOTES = 16 << 20


class ManagedFile(NamedTuple):
    """A file by its path in the directory; one that is private is for its owner's eyes only."""

    path: str
    text: str
    private: bool = False


class WriteOutcome(NamedTuple):
    """What became of it, by path."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    foreign: tuple[str, ...]  # left alone, as it is not what we wrote there


def write_files(root: Path, files: Iterable[ManagedFile], overwrite: bool = False) -> WriteOutcome:
    """Make the directory hold these files; what we once wrote and is no longer among them goes."""
    root.mkdir(parents=True, exist_ok=True)
    wanted = {file.path: file for file in files}
    notes = _read_notes(root / NOTES)
    now = {path: _hash(file.text) for path, file in wanted.items()}
    fresh = {path for path, hashed in now.items() if _hash_of(root / path) == hashed}
    foreign = {path for path in wanted.keys() - fresh if not overwrite and not _ours(root, path, notes)}
    stale = sorted(path for path in wanted.keys() - fresh - foreign)
    gone = sorted(path for path in notes.keys() - wanted.keys() if _ours(root, path, notes))
    if stale or gone:
        # Noted before it is done: were we killed in between, what is half done would look like others' work.
        _save_notes(root / NOTES, notes | {path: [*notes.get(path, ()), now[path]] for path in stale})
    for path in stale:
        _write(root / path, wanted[path])
    for path in gone:
        (root / path).unlink(missing_ok=True)
    for path in fresh:
        if wanted[path].private:
            (root / path).chmod(0o600)
    after = {path: [now[path]] for path in sorted(wanted) if path not in foreign}
    after |= {path: notes[path] for path in sorted(foreign & notes.keys())}
    if after != notes:
        _save_notes(root / NOTES, after)
    return WriteOutcome(tuple(stale), tuple(gone), tuple(sorted(foreign)))


def _ours(root: Path, path: str, notes: Mapping[str, list[str]]) -> bool:
    """Tell whether nothing is lost when the file is replaced."""
    hashed = _hash_of(root / path)
    return hashed is None or hashed in notes.get(path, ())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _hash_of(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def _write(path: Path, file: ManagedFile) -> None:
    """Write a file so that a reader sees the old one or the new one, and no other."""
    path.parent.mkdir(mode=0o700 if file.private else 0o755, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(partial, flags, 0o600 if file.private else 0o644)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(file.text)
            opened.flush()
            os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _read_notes(path: Path) -> dict[str, list[str]]:
    """Return what we wrote; notes that cannot be read are none, so that nothing counts as ours."""
    try:
        with path.open("rb") as file:
            kept = json.loads(file.read(MAX_NOTES))
    except (FileNotFoundError, ValueError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {name: hashes for name, hashes in kept.items() if _inside(name) and isinstance(hashes, list)}


def _inside(name: str) -> bool:
    """Tell whether the path stays in the directory: a file is removed by what stands in the notes."""
    return not name.startswith("/") and ".." not in name.split("/")


def _save_notes(path: Path, notes: Mapping[str, list[str]]) -> None:
    _write(path, ManagedFile(path.name, json.dumps(dict(sorted(notes.items())), indent=0) + "\n"))
