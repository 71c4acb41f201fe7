"""Child process with an embedded engine. Handles one request per line until its input ends."""

from __future__ import annotations

import json
import os
import sys
import threading
from ctypes import byref, c_int
from queue import SimpleQueue
from typing import Any

from vigie.sources._dcgm import abi
from vigie.sources._dcgm.engine import Engine
from vigie.sources._dcgm.library import DcgmError, DcgmLibrary


def main() -> None:
    """Run an engine and handle requests."""
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    library, interval, fields = sys.argv[1:]
    engine: Engine | None = None
    failed: dict[str, Any] = {}
    try:
        engine = _start(DcgmLibrary(library), float(interval), [int(field) for field in fields.split(",")])
    except DcgmError as error:
        failed = {"error": error.code, "function": error.function}
    except OSError:
        failed = {"error": -25, "function": "libdcgm.so"}
    while True:
        line = lines.get()
        said = failed if engine is None else _handle(engine, *json.loads(line))
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def _listen(lines: SimpleQueue[str]) -> None:
    """Read requests, and exit at the end of input even if the engine hangs in the driver."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _start(library: DcgmLibrary, interval: float, fields: list[int]) -> Engine:
    handle = abi.Handle()
    library.call("dcgmInit")
    library.call("dcgmStartEmbedded", c_int(abi.MODE_AUTO), byref(handle))
    return Engine(library, handle, interval, fields)


def _handle(engine: Engine, do: str, *uuids: str) -> dict[str, Any]:
    try:
        if do == "latest":
            return dict(engine.latest(uuids))
        if do in ("pause", "resume"):
            getattr(engine, do)()
    except DcgmError as error:
        return {"error": error.code, "function": error.function}
    return {}


if __name__ == "__main__":
    main()
