"""Who held what, from when to when."""

from __future__ import annotations

from typing import NamedTuple


class Binding(NamedTuple):
    """A device or cgroup held by a job, user, container or environment for a while."""

    resource: str
    holder_kind: str
    holder: str
    from_ms: int
    to_ms: int | None = None
