"""Machines with simulated NVIDIA GPUs, read by the sources as they ship."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.nvidia.gpus import Machine
from vigie.simulation.nvml.build import NoCompilerError, build
from vigie.simulation.nvml.driver import SimulatedDriver

Make = Callable[..., Machine]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as running a whole driver, which is compiled first."""
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.process)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The library, made once for all workers of this run."""
    base = tmp_path_factory.getbasetemp()
    try:
        return build((base if worker_id == "master" else base.parent) / "simulated-nvml")
    except NoCompilerError as error:
        pytest.skip(str(error))


@pytest.fixture
def machine(tmp_path: Path, built: Path) -> Iterator[Make]:
    """Make a machine by its script; `without` are calls that its driver does not have."""
    made: list[Machine] = []

    def make(script: list[str], *, without: tuple[str, ...] = (), **settings: Any) -> Machine:
        library = build(built.parent, without=without) if without else built
        simulated = SimulatedDriver(tmp_path / f"driver{len(made)}", library, ["system clock 0", *script])
        made.append(Machine(simulated, **settings))
        return made[-1]

    yield make
    for each in made:
        for reading in each.readings.values():
            reading.host.close()
        each.driver.close()
