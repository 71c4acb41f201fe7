from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from vigie.cli import main


@pytest.fixture
def bad_usage(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that ends with 2, whoever finds out, and returns what it says."""

    def said(*arguments: str) -> str:
        with pytest.raises(SystemExit) as end:
            sys.exit(main(arguments))
        assert end.value.code == 2
        return capsys.readouterr().err

    return said
