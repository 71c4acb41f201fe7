"""How soon all agents are up, from the server's readiness on: when they start then, and when they waited.

    python -m bench.server.joining [runs]

Needs root for the network namespaces. Prints every run: seconds until there is a new frame of all three.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.programs import machine
from bench.server.namespaces import NODES, Network, Programs

PATIENCE = 60.0
AWAY = (1.0, 20.0)  # seconds


def waited(condition: Callable[[], bool]) -> float:
    """Return how many seconds it took until the condition held."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > PATIENCE:
            raise RuntimeError(f"not within {PATIENCE:g} s")
        time.sleep(0.02)
    return time.monotonic() - begun


def ready(programs: Programs) -> float:
    """Wait until the server answers, and return how long that took."""
    return waited(programs.is_ready)


def until_up(programs: Programs) -> float:
    """Return how many seconds it takes until the server has a frame of every node that was made since."""
    now = time.time()

    def are() -> bool:
        with contextlib.suppress(OSError):
            return programs.up(since=now) == set(NODES)
        return False

    return waited(are)


def measured(home: Path, network: Network) -> str:
    """Return what one run gave."""
    with contextlib.closing(Programs(home, network)) as programs:
        ready(programs)
        for node in NODES:
            programs.start_agent(node)
        found = [f"agents started then {until_up(programs):.2f} s"]
        for away in AWAY:
            programs.server.kill()
            programs.server.wait()
            time.sleep(away)
            programs.start_server()
            ready(programs)
            found.append(f"after {away:g} s without a server {until_up(programs):.2f} s")
    return "; ".join(found)


def main(runs: int) -> None:
    """Measure and print."""
    print(machine())
    for run in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as home, Network() as network:
            print(f"run {run}: {measured(Path(home), network)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
