"""Dashboards as data, one file each."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from vigie.model.dashboard import Dashboard


@cache
def all_dashboards() -> tuple[Dashboard, ...]:
    """Return every dashboard by title, unlisted ones last."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")
    found = [importlib.import_module(f"{__name__}.{name}").DASHBOARD for name in names]
    return tuple(sorted(found, key=lambda board: (not board.listed, board.title.lower())))


def find_dashboard(slug: str) -> Dashboard | None:
    return next((board for board in all_dashboards() if board.slug == slug), None)
