"""Tiny machines for tests of single sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vigie.model import format_series
from vigie.sources.core.host import Host
from vigie.sources.core.replay import replay, unpack
from vigie.sources.core.source import Source

Machine = Callable[..., Host]
Samples = Callable[[Source, Host], dict[str, float]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a maker of machines from the text of an archive."""

    def make(archive: str, **options: str) -> Host:
        unpack(archive, str(tmp_path))
        return replay(str(tmp_path), options)

    return make


@pytest.fixture
def samples() -> Samples:
    """Return a reader that gives a source's samples by the series' text."""

    def read(source: Source, host: Host) -> dict[str, float]:
        found = {}
        for metric, labels, value in source.read(host):
            assert metric in source.metrics or any(m.matches(metric.name) for m in source.metrics)
            if value is not None:
                found[format_series(metric, labels)] = value
        host.end_read()
        return found

    return read
