"""States that a kernel message began and none has ended. A reboot ends them without a message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping

from vigie.model import Phase

MAX_OPEN = 64  # open states
State = tuple[str, dict[str, str]]  # kind, location


class OpenStates:
    """Open states, saved across restarts of the agent."""

    def __init__(self, kept: MutableMapping[str, str]) -> None:
        self._state = kept
        self._open = _load_states(kept.get("open", "[]"))

    def record(self, kind: str, where: Mapping[str, str], phase: Phase) -> None:
        """Record the begin or end of a state."""
        state = kind, dict(where)
        if phase is Phase.BEGINS and state not in self._open and len(self._open) < MAX_OPEN:
            self._open.append(state)
        elif phase is Phase.ENDS and state in self._open:
            self._open.remove(state)
        else:
            return
        self._state["open"] = json.dumps(self._open)

    def ended_by(self, boot_id: str) -> Iterator[State]:
        """Yield, once, the states that were open in an earlier boot."""
        if self._state.get("booted") != boot_id:
            yield from self._open
            self._open.clear()
            self._state.update(booted=boot_id, open="[]")


def _load_states(text: str) -> list[State]:
    try:
        return [
            (str(kind), {str(name): str(word) for name, word in where.items()})
            for kind, where in json.loads(text)
        ]
    except (ValueError, TypeError, AttributeError):
        return []
