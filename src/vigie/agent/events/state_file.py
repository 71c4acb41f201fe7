"""State across restarts: read positions of the sources, and open states."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vigie.common.change_logger import ChangeLogger
from vigie.model import Event

log = logging.getLogger(__name__)

MAX_BYTES = 1 << 20
PersistentState = dict[str, dict[str, str]]


class EventStateFile:
    """A small file, replaced atomically on each change. Without a path nothing is saved."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._log_change = ChangeLogger(f"agent state in {path}")
        self._written = ""

    def load(self) -> tuple[PersistentState, list[Event]]:
        """Return the saved state. An unreadable file is logged and counts as empty."""
        if self._path is None:
            return {}, []
        try:
            with self._path.open(encoding="utf-8") as file:
                found = json.loads(file.read(MAX_BYTES))
            persistent = {name: _to_strings(words) for name, words in found["sources"].items()}
            return persistent, [_parse_event(row) for row in found["open"]]
        except FileNotFoundError:
            return {}, []
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("cannot read %s (%s): events may be reported twice", self._path, error)
            return {}, []

    def save(self, persistent: Mapping[str, Mapping[str, str]], states: Sequence[Event]) -> None:
        if self._path is None:
            return
        rows = [{**state._asdict(), "where": dict(state.where)} for state in states]
        text = json.dumps({"sources": persistent, "open": rows}, indent=1)
        if text == self._written:
            return
        try:
            self._replace(self._path, text)
            self._written = text
            self._log_change("")
        except OSError as error:
            self._log_change(
                f"cannot be written ({error.strerror}): events may be reported twice after a restart"
            )

    def _replace(self, path: Path, text: str) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(partial, path)


def _to_strings(found: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in found.items()}


def _parse_event(row: Any) -> Event:
    return Event(
        str(row["kind"]),
        int(row["begin_ms"]),
        str(row["what"]),
        _to_strings(row["where"]),
        severity=str(row["severity"]),
    )
