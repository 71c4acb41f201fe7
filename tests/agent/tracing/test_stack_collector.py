"""Stacks of a process and its children, and of nobody else's."""

import asyncio
import os
import subprocess
import sys

import pytest

from vigie.agent.tracing.stack_collector import StackCollector
from vigie.wire.tracing import StackOrder

PROGRAM = """
import os, sys
def worker():
    print("ready", flush=True)
    sys.stdin.read()
def rank():
    if os.fork() == 0:
        worker()
    else:
        os.wait()
rank()
"""


@pytest.mark.process
def test_children_are_taken_along_and_others_refused() -> None:
    environment = {**os.environ, "RANK": "2"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            collector = StackCollector()
            parent, child = asyncio.run(collector.collect(StackOrder(pids=[process.pid], samples=2)))
            [refused, _] = asyncio.run(
                collector.collect(StackOrder(pids=[process.pid], user="mallory", samples=1))
            )
        finally:
            process.kill()
            assert process.stdin is not None
            process.stdin.close()
    assert (parent.rank, child.rank, child.parent_pid) == (2, 2, process.pid)
    assert parent.main is not None
    assert child.main is not None
    assert [frame.function for frame in child.main.frames] == ["<module>", "rank", "worker"]
    assert parent.is_stuck
    assert "belongs to" in refused.error


def test_process_that_has_ended_says_so() -> None:
    [gone] = asyncio.run(StackCollector().collect(StackOrder(pids=[2**22 + 1], samples=1)))
    assert gone.error == "the process has ended"
