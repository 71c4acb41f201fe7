"""JSON lines: one object per frame, appended to a file or written to standard output.

    {"time": 1700000000.0, "node": "n1", "tables": {"loadavg": {"node_load1": 0.5}}}

A series is spelled as in the exposition. NaN and infinities, which JSON lacks, are strings.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

from vigie.common.config import Setting, text
from vigie.model import Frame, Table, format_series, is_absent
from vigie.sinks.core.sink import OpenSink, SettingValues, Sink


class JsonLines:
    def __init__(self, destination: str, node: str) -> None:
        self._destination = destination
        self._node = node
        self._names: dict[str, tuple[Table, list[str]]] = {}

    def write(self, frame: Frame) -> None:
        """Append one line, whole, or raise OSError."""
        line = (json.dumps(self._object(frame), separators=(",", ":")) + "\n").encode("utf-8", "replace")
        if self._destination == "-":
            _write_all(1, line)
            return
        # Opened each time, so that a rotated or deleted file is made anew.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(Path(self._destination), flags, 0o640)
        try:
            _write_all(descriptor, line)
        finally:
            os.close(descriptor)

    def _object(self, frame: Frame) -> dict[str, object]:
        return {
            "time": frame.time_ms / 1000,
            "node": self._node,
            "tables": {
                table.source: {
                    name: _jsonable(value)
                    for name, value in zip(self._spelled(table), numbers, strict=True)
                    if not is_absent(value)
                }
                for table, numbers in frame.parts
            },
        }

    def _spelled(self, table: Table) -> list[str]:
        kept = self._names.get(table.source)
        if kept is None or kept[0] is not table:
            kept = self._names[table.source] = (table, [format_series(*series) for series in table.series])
        return kept[1]


def _open(values: SettingValues, node: str, _data: Path) -> OpenSink | None:
    destination = values["agent.log_json"]
    return (
        OpenSink(f"JSON Lines to {destination}", JsonLines(destination, node).write) if destination else None
    )


SINK = Sink(
    (
        Setting(
            "agent",
            "log_json",
            "",
            "Append each frame as a line of JSON to this file; - is standard output.",
            text,
            ("agent", "config", "doctor"),
        ),
    ),
    _open,
)


def _jsonable(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
