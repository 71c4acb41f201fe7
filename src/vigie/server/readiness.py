"""Whether the server can do its work, and if not, why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vigie.store.place import Room, Space, space_of

Check = Callable[[], str]


class Readiness:
    """Asks what the work depends on; nothing of it may wait."""

    def __init__(self) -> None:
        self.checks: list[Check] = []  # each says what is wrong, or nothing
        self.stopping = False

    def reasons(self) -> list[str]:
        """Return why the server cannot do its work; none when it can."""
        if self.stopping:
            return ["the server is being stopped"]
        return [reason for check in self.checks if (reason := check())]


def room_on(directory: Path, space: Callable[[Path], Space] = space_of) -> Check:
    """Return what tells when the file system is so full that the store takes nothing."""

    def check() -> str:
        free, total = space(directory)
        if free >= total * Room().refuse:
            return ""
        return f"the disk is full: {free} of {total} bytes are free on the file system of {directory}"

    return check
