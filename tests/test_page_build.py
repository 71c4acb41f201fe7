"""scripts/page.py builds the page when its source has changed, and only then."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.page_script import page_script


@pytest.fixture
def page(tmp_path: Path) -> ModuleType:
    """The script, with a folder of its own instead of the repository's."""
    module = page_script()
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "src" / "main.tsx").write_text("1")
    (tmp_path / "built").mkdir()
    module.__dict__.update(WEB=tmp_path / "web", BUILT=tmp_path / "built")
    return module


def test_fingerprint_follows_the_source_and_nothing_else(page: ModuleType, tmp_path: Path) -> None:
    first = page.fingerprint(page.WEB)
    (page.WEB / "node_modules").mkdir()
    (page.WEB / "node_modules" / "library.js").write_text("2")
    assert page.fingerprint(page.WEB) == first
    (page.WEB / "src" / "main.tsx").rename(page.WEB / "src" / "other.tsx")
    moved = page.fingerprint(page.WEB)
    (page.WEB / "src" / "other.tsx").write_text("2")
    assert len({first, moved, page.fingerprint(page.WEB)}) == 3


def test_page_of_the_same_source_is_not_built_again(page: ModuleType) -> None:
    (page.BUILT / page.MARK).write_text(page.fingerprint(page.WEB))
    assert page.build() is False


def test_failure_names_the_program_and_what_it_said(page: ModuleType) -> None:
    with pytest.raises(page.Unbuilt, match=r"sh -c .* failed in web/:\nno such page"):
        page._run(["/bin/sh", "-c", "echo no such page; exit 3"])
