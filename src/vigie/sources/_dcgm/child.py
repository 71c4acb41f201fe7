"""The child process with an embedded engine: answers lines on its input until that ends."""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from ctypes import byref, c_int
from typing import Any

from vigie.sources._dcgm import abi
from vigie.sources._dcgm.engine import Engine
from vigie.sources._dcgm.library import DcgmError, Library

PARENT_DEATH = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Run an engine, and answer."""
    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGTERM)
    library, interval, fields = sys.argv[1:]
    engine: Engine | None = None
    failed: dict[str, Any] = {}
    try:
        engine = _started(Library(library), float(interval), [int(field) for field in fields.split(",")])
    except DcgmError as error:
        failed = {"error": error.code, "function": error.function}
    except OSError:
        failed = {"error": -25, "function": "libdcgm.so"}
    for line in sys.stdin:
        said = failed if engine is None else _answer(engine, *json.loads(line))
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def _started(library: Library, interval: float, fields: list[int]) -> Engine:
    handle = abi.Handle()
    library.call("dcgmInit")
    library.call("dcgmStartEmbedded", c_int(abi.MODE_AUTO), byref(handle))
    return Engine(library, handle, interval, fields)


def _answer(engine: Engine, do: str, *uuids: str) -> dict[str, Any]:
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
