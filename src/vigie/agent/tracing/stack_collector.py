"""Takes the stacks of some processes and of their children, several times, without stopping them."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Iterable

from vigie.agent.tracing.rank_environment import find_job, name_user, read_rank_environment
from vigie.trace.stacks.py_spy import StackError, dump_stacks, find_py_spy
from vigie.trace.stacks.stack import ProcessStacks, ThreadStack
from vigie.trace.stacks.wait_state import read_wait_state
from vigie.wire.tracing import StackOrder

MAX_PROCESSES = 256
MAX_AT_ONCE = 4
SAMPLE_SECONDS = 1.0


class StackCollector:
    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc

    async def collect(self, order: StackOrder) -> list[ProcessStacks]:
        """Return the processes of the order and their children; what cannot be read carries the reason."""
        processes = await asyncio.to_thread(self._find_processes, order)
        try:
            program = find_py_spy()
        except StackError as error:
            for process in processes:
                process.error = process.error or str(error)
            return processes
        room = asyncio.Semaphore(MAX_AT_ONCE)
        for number in range(order.samples):
            if number:
                await asyncio.sleep(SAMPLE_SECONDS)
            await asyncio.gather(*(self._sample(process, program, room) for process in processes))
        return processes

    async def _sample(self, process: ProcessStacks, program: str, room: asyncio.Semaphore) -> None:
        if process.error:
            return
        async with room:
            try:
                threads = await dump_stacks(process.pid, program)
            except StackError as error:
                process.error = str(error)
                return
            await asyncio.to_thread(self._add_wait_states, process.pid, threads)
        process.samples = [*process.samples, threads]

    def _add_wait_states(self, pid: int, threads: list[ThreadStack]) -> None:
        for thread in threads:
            thread.state, thread.wait = read_wait_state(pid, thread.thread_id, platform.machine(), self._proc)

    def _find_processes(self, order: StackOrder) -> list[ProcessStacks]:
        parents = self._read_parents()
        chosen = set(order.pids) if order.pids else self._find_job(order.job, parents)
        for pid in sorted(parents):  # a child's pid is larger than its parent's, but for a wrap
            if parents[pid] in chosen and len(chosen) < MAX_PROCESSES:
                chosen.add(pid)
        return [self._describe(pid, parents.get(pid, 0), order.user) for pid in sorted(chosen)]

    def _find_job(self, job: str, pids: Iterable[int]) -> set[int]:
        """Return the Python programs of a job, by their cgroup or the variable that Slurm sets."""
        if not job:
            return set()
        return {pid for pid in pids if self._is_python(pid) and find_job(pid, self._proc) == job}

    def _is_python(self, pid: int) -> bool:
        try:
            return "python" in os.path.basename(os.readlink(f"{self._proc}/{pid}/exe"))
        except OSError:
            return False

    def _read_parents(self) -> dict[int, int]:
        parents = {}
        for name in os.listdir(self._proc):
            if name.isdecimal():
                fields = self._read(f"{name}/stat").rpartition(")")[2].split()
                if len(fields) > 1 and fields[1].isdecimal():
                    parents[int(name)] = int(fields[1])
        return parents

    def _describe(self, pid: int, parent_pid: int, user: str) -> ProcessStacks:
        process = ProcessStacks(pid=pid, parent_pid=parent_pid, name=self._read(f"{pid}/comm").strip())
        try:
            owner = os.stat(f"{self._proc}/{pid}").st_uid
        except OSError:
            process.error = "the process has ended"
            return process
        if user and name_user(owner) != user:
            process.error = f"it belongs to {name_user(owner)}"
            return process
        process.rank = read_rank_environment(pid, self._proc).rank
        return process

    def _read(self, path: str) -> str:
        try:
            with open(f"{self._proc}/{path}", "rb") as file:
                return file.read(4096).decode(errors="replace")
        except OSError:
            return ""
