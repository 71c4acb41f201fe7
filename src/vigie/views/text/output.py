"""Where lines go: how wide it is, whether it shows colours, and which characters it takes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from typing import TextIO


def columns(stream: TextIO) -> int | None:
    """Return the width to keep to: $COLUMNS, which watch sets, or the terminal's; none for a file or pipe."""
    if os.environ.get("COLUMNS", "").isdecimal() or stream.isatty():
        return max(1, shutil.get_terminal_size().columns)
    return None


def colourful(stream: TextIO) -> bool:
    """Tell whether colours are welcome: on a terminal, unless NO_COLOR or TERM=dumb says no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Write lines; what the stream's encoding cannot say becomes a question mark."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "utf-8"
    for line in lines:
        stream.write(line.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()
