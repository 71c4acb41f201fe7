"""Who held what, from when to when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

GPU = "gpu:"


class Binding(NamedTuple):
    """A device or cgroup held by a job, user, container or environment for a while.

    The resource is `gpu:INDEX`, `cgroup:PATH`, `node` for the whole machine, or `queue` for a job that
    still waits. Facts are what else is known of the holder: name, account, command, reason, limit.
    """

    resource: str
    holder_kind: str
    holder: str
    from_ms: int  # 0 when the source cannot tell: the agent then takes when it first saw it
    to_ms: int | None = None
    user: str = ""
    source: str = ""
    facts: Mapping[str, str] = {}

    @property
    def gpu(self) -> str:
        """Return the index of the GPU that is held, or nothing."""
        return self.resource[len(GPU) :] if self.resource.startswith(GPU) else ""
