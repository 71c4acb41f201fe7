"""A server for the tests of this folder, with a few series."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.serving import Server, series, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a store with a few series; tests do not change it."""
    with serving(Path(tmp_path_factory.mktemp("server"))) as running:
        running.store.append_series(
            [
                series("up", [1.0] * 20, job="node", instance="n1"),
                series("up", [0.0] * 20, job="node", instance="n2"),
                series("work_total", [float(i * 15) for i in range(20)], job="node", instance="n1", cpu="0"),
                series("odd", [1e21, 1e-7, float("nan"), float("inf"), 0.5], job="odd", instance="n1"),
            ]
        )
        yield running
