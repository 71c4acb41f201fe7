"""Who used which resource, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

GPU = "gpu:"
MAX_NODE_NAMES = 4  # by which another node is known
SCHEDULER = "slurm"  # the source whose times and facts go before those of any other


class Binding(NamedTuple):
    """A device or cgroup allocated to a job, user, container or environment for a time.

    The resource is `gpu:INDEX`, `cgroup:PATH`, `node` for the whole machine, or `queue` for a pending
    job. Facts describe the holder: name, account, command, reason, limit.
    """

    resource: str
    holder_kind: str
    holder: str
    from_ms: int  # 0 if the source does not know; the agent then uses the time of the first read
    to_ms: int | None = None
    user: str = ""
    source: str = ""
    facts: Mapping[str, str] = {}
    node_names: tuple[str, ...] = ()  # of the node that has the resource, if not the one that reports it

    @property
    def gpu(self) -> str:
        """Return the GPU index, or an empty string."""
        return self.resource[len(GPU) :] if self.resource.startswith(GPU) else ""
