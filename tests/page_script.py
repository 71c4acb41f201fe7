"""scripts/page.py as a module."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

SCRIPT = Path(__file__).parent.parent / "scripts" / "page.py"


def page_script() -> ModuleType:
    """Return the script, loaded anew."""
    spec = importlib.util.spec_from_file_location("page_script", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
