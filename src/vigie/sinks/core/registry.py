"""Finds the sinks: every file of the package is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import vigie.sinks
from vigie.sinks.core.sink import Sink


@cache
def find_sinks() -> tuple[Sink, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(vigie.sinks.__path__) if not module.ispkg)
    return tuple(importlib.import_module(f"vigie.sinks.{name}").SINK for name in names)
