"""Builds the page when vigie is installed or packed, so that every wheel carries it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "scripts"))
import page

WITHOUT = "VIGIE_WITHOUT_PAGE"  # set to build a wheel without it


class PageHook(BuildHookInterface[Any]):
    """Runs scripts/page.py."""

    def dependencies(self) -> list[str]:
        """Return Node as a Python package, where the machine has none."""
        return [page.NODE_WHEEL] if page.needs_wheel() and not os.environ.get(WITHOUT) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's own
        """Build the page if web/ has changed."""
        if os.environ.get(WITHOUT):
            return
        try:
            page.build()
        except page.Unbuilt as trouble:
            if version != "editable":
                raise SystemExit(f"{trouble}\nTo go without the page, set {WITHOUT}=1.") from None
            # The server runs without its page, and says there what to type.
            self.app.display_warning(f"the page was not built: {trouble}")
