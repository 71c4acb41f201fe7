"""Python stacks by py-spy, without stopping the process."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import msgspec

from vigie.trace.stacks.stack import ThreadStack
from vigie.wire.api.trace_reports import StackFrame

DUMP_SECONDS = 10.0
MAX_OUTPUT_BYTES = 8 * 1024 * 1024
MAX_FRAMES = 200
INSTALL = "pip install 'vigie[stacks]'"


class StackError(Exception):
    """No stack could be had; the message says why."""


class _SpyFrame(msgspec.Struct):
    name: str
    filename: str = ""
    short_filename: str | None = None
    line: int = 0


class _SpyThread(msgspec.Struct):
    frames: list[_SpyFrame]
    thread_id: int = 0
    thread_name: str | None = None
    os_thread_id: int | None = None


_decode = msgspec.json.Decoder(list[_SpyThread]).decode


def find_py_spy() -> str:
    """Return the program: that of our own environment before any other on the path."""
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy")
    if found is None:
        raise StackError(f"py-spy is not installed on this node: {INSTALL}")
    return found


async def dump_stacks(pid: int, program: str | None = None) -> list[ThreadStack]:
    """Return the stacks of a running Python process, or raise StackError."""
    process = await asyncio.create_subprocess_exec(
        program or find_py_spy(),
        *("dump", "--pid", str(pid), "--json", "--nonblocking"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(_read_output(process), DUMP_SECONDS)
    except TimeoutError:
        raise StackError(f"py-spy did not end within {DUMP_SECONDS:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise StackError(_explain(errors.decode(errors="replace")))
    return decode_dump(output)


def decode_dump(output: bytes) -> list[ThreadStack]:
    """Return the threads of a dump, calls outermost first."""
    try:
        threads = _decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise StackError("py-spy printed no stacks") from None
    return [
        ThreadStack(
            thread.os_thread_id or thread.thread_id,
            thread.thread_name or "",
            [StackFrame(f.name, f.short_filename or f.filename, f.line) for f in thread.frames[:MAX_FRAMES]][
                ::-1
            ],
        )
        for thread in threads
    ]


async def _read_output(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = await asyncio.gather(
        _read_bounded(process.stdout, MAX_OUTPUT_BYTES), _read_bounded(process.stderr, 65536)
    )
    await process.wait()
    return output, errors


async def _read_bounded(stream: asyncio.StreamReader, limit: int) -> bytes:
    data = bytearray()
    while len(data) < limit and (part := await stream.read(65536)):
        data += part
    while await stream.read(65536):  # let it end
        pass
    return bytes(data[:limit])


def _explain(errors: str) -> str:
    if "Permission" in errors:
        return "no permission to read the process: the agent needs CAP_SYS_PTRACE (or the process's own user)"
    if "No such process" in errors or "Check that the process is running" in errors:
        return "the process has ended"
    first = errors.partition("\n")[0].removeprefix("Error: ").strip()
    return f"py-spy: {first[:200]} (is it a Python program?)" if first else "py-spy failed"
