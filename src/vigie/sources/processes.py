"""How many processes and threads there are and what they do, from each one's stat file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Metric, Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import Tree

METRICS = (
    THREADS := gauge("node_processes_threads", "Threads of all processes."),
    MAX_THREADS := gauge("node_processes_max_threads", "Threads that the kernel allows at most."),
    STATES := gauge("node_processes_state", "Processes by the kernel's letter for their state.", "state"),
    PIDS := gauge("node_processes_pids", "Processes."),
    MAX_PIDS := gauge("node_processes_max_processes", "Process numbers that the kernel can give out."),
    THREAD_STATES := gauge(
        "node_processes_threads_state", "Threads by the kernel's letter for their state.", "thread_state"
    ),
)

# Beyond this many, looking at each would take most of a second of somebody's core.
MOST = 50_000


class ProcessStat(NamedTuple):
    """What is wanted of a process or thread."""

    state: str
    threads: int


def read(host: Host) -> Iterator[Sample]:
    """Yield the counts; a process that ends while it is looked at is simply not counted."""
    yield MAX_THREADS, (), host.proc.read_number("sys/kernel/threads-max")
    yield MAX_PIDS, (), host.proc.read_number("sys/kernel/pid_max")
    pids = [name for name in host.proc.list_directory() if name.isdigit()]
    if len(pids) > MOST:
        yield PIDS, (), len(pids)
        host.note("/proc", f"{len(pids)} processes are too many to look at each")
        return
    stats = {pid: stat for pid in pids if (stat := _stat(host.proc, pid + "/stat"))}
    threads = sum(stat.threads for stat in stats.values())
    yield PIDS, (), len(stats)
    yield THREADS, (), threads
    yield from _counted(STATES, [stat.state for stat in stats.values()])
    if threads > MOST:
        host.note("/proc", f"{threads} threads are too many to look at each")
    else:
        yield from _counted(THREAD_STATES, list(_thread_states(host.proc, stats)))


def _stat(tree: Tree, path: str) -> ProcessStat | None:
    try:
        text = tree.read_once(path)  # these are too many to be kept open
    except OSError:  # it ended, or is hidden from us
        return None
    fields = text[text.rfind(")") + 2 :].split(" ", 18)  # the name before may hold anything
    if len(fields) > 17 and fields[17].isdecimal():
        return ProcessStat(fields[0], int(fields[17]))
    return None


def _thread_states(tree: Tree, stats: dict[str, ProcessStat]) -> Iterator[str]:
    for pid, stat in stats.items():
        if stat.threads == 1:  # most have only the one, whose state is known
            yield stat.state
            continue
        for thread in tree.list_names(pid + "/task"):
            of_thread = _stat(tree, f"{pid}/task/{thread}/stat")
            if of_thread:
                yield of_thread.state


def _counted(metric: Metric, states: list[str]) -> Iterator[Sample]:
    for state, count in sorted(Counter(states).items()):
        yield metric, (state,), count


SOURCE = Source("processes", METRICS, read, slow=True, every=30)
