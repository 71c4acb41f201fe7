"""Machines of which some GPUs are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from vigie.model import format_series
from vigie.sources.core.driver import GpuState, Note
from vigie.sources.core.host import Host
from vigie.sources.core.replay import replay, unpack
from vigie.sources.core.source import Source

Machine = Callable[..., Host]
Samples = Callable[[Source, Host], dict[str, float]]


class ScriptedDriver:
    """A driver with the GPUs that it was given."""

    def __init__(self, gpus: Iterable[GpuState]) -> None:
        self.gpus = list(gpus)

    def states(self, _: Note) -> list[GpuState]:
        """Return them."""
        return self.gpus


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a maker of machines from the text of an archive, and their GPUs."""

    def make(archive: str, gpus: Iterable[GpuState] | None = None, **options: str) -> Host:
        unpack(archive, str(tmp_path))
        host = replay(str(tmp_path), options)
        if gpus is not None:
            host.nvml = cast("Any", ScriptedDriver(gpus))
        return host

    return make


@pytest.fixture
def samples() -> Samples:
    """Return a reader that gives a source's samples by the series' text."""

    def read(source: Source, host: Host) -> dict[str, float]:
        host.bindings.clear()
        host.notes.clear()
        found = {}
        for metric, labels, value in source.read(host):
            assert metric in source.metrics
            if value is not None:
                found[format_series(metric, labels)] = value
        host.end_read()
        return found

    return read
