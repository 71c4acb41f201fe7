"""What the agent knows again after a restart: how far sources have read, and which states are open."""

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
    """One small file, written whole whenever it changes; without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._log_change = ChangeLogger(f"memory of the agent in {path}")
        self._written = ""

    def load(self) -> tuple[PersistentState, list[Event]]:
        """Return what was kept; a file that cannot be read is as none, and said."""
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
            log.warning("%s cannot be read (%s): events may be told again", self._path, error)
            return {}, []

    def save(self, persistent: Mapping[str, Mapping[str, str]], states: Sequence[Event]) -> None:
        """Keep this, unless it is what is kept."""
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
            self._log_change(f"cannot be written ({error.strerror}): after a restart events are told again")

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
