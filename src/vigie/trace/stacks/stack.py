"""A stack of one thread, as it is sent, grouped and shown."""

from __future__ import annotations

import msgspec

from vigie.wire.api.trace_reports import StackFrame


class ThreadStack(msgspec.Struct):
    """The calls of one thread, outermost first, and what the kernel says it waits for."""

    thread_id: int
    name: str
    frames: list[StackFrame]
    state: str = ""  # R, S, D ...: as /proc has it
    wait: str = ""  # the kernel function or system call that it sleeps in


class ProcessStacks(msgspec.Struct, kw_only=True):
    """One process of a job at several moments, or why it could not be looked at."""

    pid: int
    node: str = ""
    parent_pid: int = 0
    rank: int | None = None
    name: str = ""
    samples: list[list[ThreadStack]] = []
    error: str = ""

    @property
    def main(self) -> ThreadStack | None:
        """Return the main thread of the last sample."""
        if not self.samples or not self.samples[-1]:
            return None
        threads = self.samples[-1]
        named = [thread for thread in threads if thread.name == "MainThread"]
        return named[0] if named else threads[0]

    @property
    def is_stuck(self) -> bool:
        """Return whether the main thread did not move between samples."""
        mains = [_main_calls(sample) for sample in self.samples]
        return len(mains) > 1 and all(calls == mains[0] for calls in mains)


def _main_calls(sample: list[ThreadStack]) -> list[StackFrame]:
    named = [thread for thread in sample if thread.name == "MainThread"]
    threads = named or sample
    return threads[0].frames if threads else []
