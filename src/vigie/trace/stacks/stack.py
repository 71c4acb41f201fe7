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
        return _find_main(self.samples[-1]) if self.samples else None

    @property
    def is_stuck(self) -> bool:
        """Return whether the main thread slept at one place in all samples."""
        mains = [_find_main(sample) for sample in self.samples]
        places = [main.frames for main in mains if main is not None and main.state != "R"]
        return len(mains) > 1 and len(places) == len(mains) and all(p == places[0] for p in places)


def _find_main(sample: list[ThreadStack]) -> ThreadStack | None:
    named = [thread for thread in sample if thread.name == "MainThread"]
    return next(iter(named or sample), None)
