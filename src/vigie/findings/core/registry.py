"""Finds the diagnoses: every module of this package that has one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import vigie.findings
from vigie.findings.core.finding import Finding


@cache
def all_findings() -> tuple[Finding, ...]:
    """Return every diagnosis, by name."""
    found = []
    for module in pkgutil.iter_modules(vigie.findings.__path__):
        if not module.ispkg and not module.name.startswith("_"):
            finding = getattr(importlib.import_module(f"vigie.findings.{module.name}"), "FINDING", None)
            if isinstance(finding, Finding):
                found.append(finding)
    return tuple(sorted(found, key=lambda finding: finding.name))


def find_finding(name: str) -> Finding:
    """Return the diagnosis of a name."""
    return next(each for each in all_findings() if each.name == name)
