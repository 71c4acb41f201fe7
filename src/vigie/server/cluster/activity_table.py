"""When each node was active, as rows of the database."""

from __future__ import annotations

from collections.abc import Iterable

from vigie.server.cluster.database import ClusterDatabase


class ActivityTable:
    """Keeps the activity of nodes for the staleness of their series."""

    def __init__(self, database: ClusterDatabase) -> None:
        self._database = database

    def load(self) -> dict[str, str]:
        """Return the facts of each node."""
        return {row["node"]: row["facts"] for row in self._database.query("select node, facts from activity")}

    def save(self, rows: Iterable[tuple[str, str]]) -> None:
        """Write the facts of some nodes; they survive once the database is synced."""
        with self._database.transaction() as connection:
            connection.executemany("insert or replace into activity (node, facts) values (?, ?)", rows)
