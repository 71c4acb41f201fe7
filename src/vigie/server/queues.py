"""What waits within the server, on /metrics: a queue that grows tells of trouble early."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vigie.model import Table, gauge

METRICS = (WAITING := gauge("vigie_server_waiting", "What waits for its turn within the server.", "queue"),)


class Queues:
    """Makes the table."""

    def __init__(self, waiting: Mapping[str, Callable[[], int]]) -> None:
        self._waiting = waiting
        self._table = Table("queues", 1, tuple((WAITING, (queue,)) for queue in waiting))

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        """Return the table as of now."""
        return self._table, tuple(count() for count in self._waiting.values())
