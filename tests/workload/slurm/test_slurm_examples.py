"""The examples in the package are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import vigie.workload.slurm


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(vigie.workload.slurm.__path__)]
)
def test_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"vigie.workload.slurm.{name}")).failed == 0
