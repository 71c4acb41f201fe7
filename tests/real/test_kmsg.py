"""The running kernel's own log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vigie.sources.core.host import Host
from vigie.sources.kernel_log import SOURCE

KMSG = Path("/dev/kmsg")


@pytest.fixture
def host() -> Host:
    try:
        os.close(os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        pytest.skip(f"{KMSG} cannot be read here: {error.strerror}; as root it can")
    return Host()


def _read(host: Host) -> dict[str, float]:
    return {metric.name: value or 0 for metric, _, value in SOURCE.read(host)}


def test_the_whole_ring_is_read_once_without_gaps_and_a_restart_goes_on_behind_it(host: Host) -> None:
    first = _read(host)
    assert first["vigie_kernel_log_lines_total"] > 0
    assert first["vigie_kernel_log_lost_total"] == 0
    now = host.calls.time() * 1000
    assert all(happening.event.begin_ms <= now for happening in host.event_changes)
    again = Host()
    again.persistent.update(host.persistent)
    host.close()
    second = _read(again)
    again.close()
    assert second["vigie_kernel_log_lines_total"] < first["vigie_kernel_log_lines_total"]
    assert second["vigie_kernel_log_lost_total"] == 0
