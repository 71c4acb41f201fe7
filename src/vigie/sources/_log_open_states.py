"""States that the kernel's log began and has not ended: a reboot ends them, and no line tells it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping

from vigie.model import Phase

MOST = 64  # that are open at once
State = tuple[str, dict[str, str]]  # a kind, and where


class OpenStates:
    """What is open, kept over restarts of the agent."""

    def __init__(self, kept: MutableMapping[str, str]) -> None:
        self._kept = kept
        self._open = _known(kept.get("open", "[]"))

    def note(self, kind: str, where: Mapping[str, str], phase: Phase) -> None:
        """Note that a state begins or ends."""
        state = kind, dict(where)
        if phase is Phase.BEGINS and state not in self._open and len(self._open) < MOST:
            self._open.append(state)
        elif phase is Phase.ENDS and state in self._open:
            self._open.remove(state)
        else:
            return
        self._kept["open"] = json.dumps(self._open)

    def ended_by(self, boot_id: str) -> Iterator[State]:
        """Yield what was open in an earlier boot than this one, once."""
        if self._kept.get("booted") != boot_id:
            yield from self._open
            self._open.clear()
            self._kept.update(booted=boot_id, open="[]")


def _known(text: str) -> list[State]:
    try:
        return [
            (str(kind), {str(name): str(word) for name, word in where.items()})
            for kind, where in json.loads(text)
        ]
    except (ValueError, TypeError, AttributeError):
        return []
