"""Recorded machines: a directory holds archives (*.txt) and what vigie makes of them."""

from __future__ import annotations

import os
from pathlib import Path

from vigie.agent.collector import Collector
from vigie.agent.source_reader import SourceReader
from vigie.common.clock import SystemClock
from vigie.sources.core.replay import replay, unpack
from vigie.sources.core.source import Source

WRITTEN = 1_700_000_000  # when the text files of every machine were written
HERE = Path(__file__).parent


def unpacked(machine: str, directory: Path) -> Path:
    """Write the machine's files below the directory."""
    for archive in sorted((HERE / machine).glob("*.txt")):
        text = archive.read_text(encoding="utf-8", errors="surrogateescape")
        unpack(text, str(directory))
    for path in directory.glob("root/textfiles/*"):
        if path.is_file():
            os.utime(path, (WRITTEN, WRITTEN))
    return directory


def collected(directory: Path, sources: list[Source]) -> Collector:
    """Read the machine below the directory once with these sources."""
    readings = []
    for source in sources:
        options = {option.name: option.default for option in source.options}
        if source.name == "textfile":
            options["directory"] = str(directory / "root/textfiles")
        if source.name == "custom" and (file := directory / "root/custom.json").exists():
            options["file"] = str(file)
        readings.append(SourceReader(source, replay(str(directory), options), SystemClock()))
    collector = Collector(readings)
    collector.refresh_now()
    collector.close()
    return collector
