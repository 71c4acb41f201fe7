"""Processes and threads by state, from their stat files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Metric, Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import Tree

METRICS = (
    THREADS := gauge("node_processes_threads", "Threads."),
    MAX_THREADS := gauge("node_processes_max_threads", "Maximum number of threads."),
    STATES := gauge("node_processes_state", "Processes by state.", "state"),
    PIDS := gauge("node_processes_pids", "Processes."),
    MAX_PIDS := gauge("node_processes_max_processes", "Maximum process id."),
    THREAD_STATES := gauge("node_processes_threads_state", "Threads by state.", "thread_state"),
)

# Reading more takes most of a second of CPU time.
MAX_PROCESSES = 50_000


class ProcessStat(NamedTuple):
    """State and thread count of a process."""

    state: str
    threads: int


def read(host: Host) -> Iterator[Sample]:
    """Yield the counts. A process that ends meanwhile is not counted."""
    yield MAX_THREADS, (), host.proc.read_number("sys/kernel/threads-max")
    yield MAX_PIDS, (), host.proc.read_number("sys/kernel/pid_max")
    pids = [name for name in host.proc.list_directory() if name.isdigit()]
    if len(pids) > MAX_PROCESSES:
        yield PIDS, (), len(pids)
        host.note("/proc", f"{len(pids)} processes are too many to read")
        return
    stats = {pid: stat for pid in pids if (stat := _read_stat(host.proc, pid + "/stat"))}
    threads = sum(stat.threads for stat in stats.values())
    yield PIDS, (), len(stats)
    yield THREADS, (), threads
    yield from _count_states(STATES, [stat.state for stat in stats.values()])
    if threads > MAX_PROCESSES:
        host.note("/proc", f"{threads} threads are too many to read")
    else:
        yield from _count_states(THREAD_STATES, list(_read_thread_states(host.proc, stats)))


def _read_stat(tree: Tree, path: str) -> ProcessStat | None:
    try:
        text = tree.read_once(path)  # too many to keep open
    except OSError:  # ended, or hidden
        return None
    fields = text[text.rfind(")") + 2 :].split(" ", 18)  # the name before may contain anything
    if len(fields) > 17 and fields[17].isdecimal():
        return ProcessStat(fields[0], int(fields[17]))
    return None


def _read_thread_states(tree: Tree, stats: dict[str, ProcessStat]) -> Iterator[str]:
    for pid, stat in stats.items():
        if stat.threads == 1:  # most processes have one thread, whose state is known
            yield stat.state
            continue
        for thread in tree.list_names(pid + "/task"):
            of_thread = _read_stat(tree, f"{pid}/task/{thread}/stat")
            if of_thread:
                yield of_thread.state


def _count_states(metric: Metric, states: list[str]) -> Iterator[Sample]:
    for state, count in sorted(Counter(states).items()):
        yield metric, (state,), count


SOURCE = Source("processes", METRICS, read, slow=True, every=30)
