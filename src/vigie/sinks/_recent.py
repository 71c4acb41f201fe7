"""A bounded memory: what was used of late stays, the rest is forgotten half at a time."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A dictionary of two generations, each of at most half of the entries."""

    def __init__(self, most: int) -> None:
        self.newer: dict[K, V] = {}
        self._older: dict[K, V] = {}
        self._half = max(1, most // 2)

    def get(self, key: K) -> V | None:
        """Return what is known, and remember it a while longer."""
        found = self.newer.get(key)
        if found is None:
            found = self._older.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        """Remember; when the newer half is full, the older one goes."""
        if len(self.newer) >= self._half and key not in self.newer:
            # Emptied in place, because readers in a hurry hold on to the newer one.
            self._older = dict(self.newer)
            self.newer.clear()
        self.newer[key] = value
