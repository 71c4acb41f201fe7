"""Sends what a program reports to the agent of its node: one datagram of JSON, or none.

A training loop must not notice it, so nothing here waits and nothing raises. At most ten datagrams leave in a
second; what is reported between two of them goes with the next.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import time
from collections.abc import Mapping

INTERVAL = 0.1
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")  # torchrun, srun, Open MPI, MPICH
JOBS = ("VIGIE_JOB_ID", "SLURM_JOB_ID")


class Reporter:
    """What one process reports."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._pending: dict[str, object] = {}
        self._not_before = 0.0

    def report(self, values: Mapping[str, object]) -> None:
        """Send the values now, or with the next ones."""
        try:
            self._pending.update(values)
            now = time.monotonic()
            if now >= self._not_before:
                pending, self._pending, self._not_before = self._pending, {}, now + INTERVAL
                self._send({**_labels(), **pending})
        except Exception:  # noqa: BLE001, S110 - whatever is wrong, training goes on
            pass

    def close(self) -> None:
        """Let go of the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, values: Mapping[str, object]) -> None:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
        data = json.dumps(values, default=float).encode()  # numpy's and torch's numbers are floats to it
        for address in addresses():
            try:
                self._socket.sendto(data, address)
            except (FileNotFoundError, ConnectionRefusedError, PermissionError):
                continue
            return


def addresses() -> list[str]:
    """Return where an agent may listen: the system's, then one that this user runs."""
    given = os.environ.get("VIGIE_REPORT_SOCKET")
    if given:
        return [given]
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return ["/run/vigie/report.sock", f"{home}/vigie/report.sock"]


def _labels() -> dict[str, object]:
    """Return the rank of this process and its job, where its launcher tells them."""
    found = {"rank": RANKS, "job_id": JOBS}
    told = {name: next(filter(None, map(os.environ.get, names)), "") for name, names in found.items()}
    return {name: value for name, value in told.items() if value}


REPORTER = Reporter()
atexit.register(REPORTER.close)
