"""Calls a dynolog, or an agent that speaks like one."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

from vigie.trace.dyno.framing import FramingError, decode_length, encode_message

TIMEOUT_SECONDS = 10.0


class DynoCallError(Exception):
    """The call got no answer; the message says why."""


def call(hostname: str, port: int, request: object) -> Any:
    """Return the answer; every address of the host is tried."""
    try:
        with socket.create_connection((hostname, port), timeout=TIMEOUT_SECONDS) as connection:
            connection.sendall(encode_message(request))
            length = decode_length(_receive(connection, 4))
            return json.loads(_receive(connection, length))
    except TimeoutError:
        raise DynoCallError(f"{hostname}:{port}: no answer within {TIMEOUT_SECONDS:.0f} s") from None
    except FramingError as error:
        raise DynoCallError(f"{hostname}:{port}: no answer: {error}") from None
    except ValueError:
        raise DynoCallError(f"{hostname}:{port}: the answer is not JSON") from None
    except OSError as error:
        raise DynoCallError(f"{hostname}:{port}: {error.strerror or error}") from None


def _receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while len(data) < size and (part := connection.recv(size - len(data))):
            data += part
    if len(data) < size:
        raise FramingError("the connection was closed")
    return bytes(data)
