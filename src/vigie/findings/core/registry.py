"""Finds the findings: every file of the package is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import vigie.findings
from vigie.findings.core.finding import Finding


@cache
def all_findings() -> tuple[Finding, ...]:
    return tuple(
        _load(module.name)
        for module in sorted(pkgutil.iter_modules(vigie.findings.__path__), key=lambda module: module.name)
        if not module.ispkg and not module.name.startswith("_")
    )


def find_finding(name: str) -> Finding:
    """Return the finding of a name."""
    return next(each for each in all_findings() if each.name == name)


def _load(module: str) -> Finding:
    finding: Finding = importlib.import_module(f"vigie.findings.{module}").FINDING
    return finding._replace(name=module.replace("_", "-"))
