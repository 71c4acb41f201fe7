"""GET metrics from a local port, with a deadline and a size limit."""

from __future__ import annotations

import asyncio

MAX_BYTES = 16 << 20
MAX_HEAD_BYTES = 64 << 10
HOST = "127.0.0.1"
# HTTP/1.0: the response ends with the connection and is never chunked.
REQUEST = "GET {} HTTP/1.0\r\nHost: {}:{}\r\nAccept: text/plain;version=0.0.4\r\nUser-Agent: vigie\r\n\r\n"


class ExporterUnreachableError(Exception):
    """No response, or not metrics; the message says which."""


async def fetch(port: int, seconds: float, path: str = "/metrics") -> str:
    """Return the exposition, or raise ExporterUnreachableError."""
    try:
        async with asyncio.timeout(seconds):
            return _parse_response(await _exchange(port, path))
    except TimeoutError:
        raise ExporterUnreachableError(f"timed out after {seconds:g}s") from None
    except OSError as error:
        raise ExporterUnreachableError(error.strerror or str(error)) from None


async def _exchange(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(REQUEST.format(path, HOST, port).encode())
        answer = bytearray()
        while chunk := await reader.read(1 << 16):
            answer += chunk
            if len(answer) > MAX_BYTES + MAX_HEAD_BYTES:
                raise ExporterUnreachableError(f"response exceeds {MAX_BYTES} bytes")
        return bytes(answer)
    finally:
        writer.close()


def _parse_response(answer: bytes) -> str:
    head, end, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ", 2)
    if not end or len(status) < 2 or not status[0].startswith(b"HTTP/1."):
        raise ExporterUnreachableError("not HTTP")
    if status[1] != b"200":
        raise ExporterUnreachableError(f"HTTP status {status[1][:20].decode('ascii', 'replace')}")
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise ExporterUnreachableError("response is not UTF-8") from None
