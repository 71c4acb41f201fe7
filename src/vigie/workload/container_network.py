"""What a container sent and received: the counters of its network namespace, from one of its processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vigie.sources.core.host import Host
from vigie.sources.core.tree import to_printable
from vigie.workload.cgroup_stats import is_number

OTHERS = ("lo", "veth", "docker", "nerdctl")  # begin the names of what is not the container's own
MAX_INTERFACES = 16
# Of the sixteen numbers of a line: bytes, packets, errors, dropped; received and sent.
COLUMNS = (0, 1, 2, 3, 8, 9, 10, 11)


class NetworkNamespaces:
    """Gives each namespace's counters once, to the first container that is in it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._given: set[str] = set()

    def next_turn(self) -> None:
        """Begin another read of all containers; the machine's own namespace is no container's."""
        self._given = {self._namespace("1") or self._namespace("self")} - {""}

    def counters(self, pid: int) -> Iterator[tuple[str, Sequence[float]]]:
        """Yield the interfaces of a process's namespace with their eight counters."""
        namespace = self._namespace(str(pid))
        if not namespace or not self._given or namespace in self._given:
            return
        self._given.add(namespace)
        try:
            text = self._host.proc.read_once(f"{pid}/net/dev")
        except OSError:
            return
        rows = (line.partition(":") for line in text.splitlines()[2:])
        named = [
            (name.strip(), rest.split()) for name, _, rest in rows if not name.strip().startswith(OTHERS)
        ]
        for name, words in named[:MAX_INTERFACES]:
            if len(words) >= 16 and all(is_number(words[column]) for column in COLUMNS):
                yield to_printable(name), [float(words[column]) for column in COLUMNS]

    def _namespace(self, pid: str) -> str:
        try:
            return self._host.proc.read_link(f"{pid}/ns/net")
        except OSError as error:
            if isinstance(error, PermissionError) and pid != "1":
                self._host.note("network of containers", "not readable: run the agent as root")
            return ""
