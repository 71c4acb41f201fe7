"""What a sink declares: its settings, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vigie.common.config import Setting
from vigie.model import Frame, Table

SettingValues = Mapping[str, Any]  # effective values by key, such as remote_write.url


class OpenSink(NamedTuple):
    """A destination of frames that is ready."""

    name: str
    write: Callable[[Frame], None]
    close: Callable[[], None] = lambda: None
    metrics: Callable[[], tuple[Table, tuple[float, ...]]] | None = None  # its own, if it has any


class Sink(NamedTuple):
    """One destination of frames; `open` gets values, node and data directory, and may find it is not set."""

    settings: tuple[Setting, ...]
    open: Callable[[SettingValues, str, Path], OpenSink | None]
