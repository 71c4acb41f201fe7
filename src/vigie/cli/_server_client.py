"""Requests of commands to a server: address, credentials, errors."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from vigie.cli import _agent_client
from vigie.cli.settings import flags
from vigie.common import listen
from vigie.common.token_file import load_or_create_token
from vigie.server.server_address import ServerAddress, read_address
from vigie.views.text.text_width import clean

T = TypeVar("T")

DEFAULT, AGENT = "http://127.0.0.1:8000", "agent"
SECONDS = 130.0  # a little more than a query may take
UNREACHABLE = "Cannot reach the server. Run `vigie up`, or set --server URL, on a node --server agent"
PASSING = (502, 503, 504)  # statuses of servers that start or stop, and of proxies before them
DISTRUST = "Untrusted certificate. Set SSL_CERT_FILE=ca.pem, or on the server's machine --data DIR"


class ServerRequestError(Exception):
    """The request failed; the message says why, and the next step."""


class ServerUnreachableError(ServerRequestError):
    """The server is unreachable or stopping; it may come back."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags for the server."""
    parser.add_argument(
        "--server",
        default=DEFAULT,
        metavar="URL",
        help="server URL (default: local, else via the agent, no token needed)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="data directory with the server token",
    )


def request(
    arguments: argparse.Namespace,
    method: str,
    path: str,
    form: bytes | None = None,
    seconds: float = SECONDS,
) -> bytes:
    """Return the body of the response; a token is sent if there is one, since it may show more."""
    if arguments.server == AGENT:
        return _by_agent(arguments, method, path, form, seconds)
    server = place(arguments)
    url = f"{server.url}/{path}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"invalid --server {arguments.server!r}: use a URL such as http://127.0.0.1:8000")
    token = os.environ.get("VIGIE_TOKEN") or _local_token(arguments, server.url)
    send = partial(_send, method, url, form, seconds=seconds, context=server.context())
    try:
        status, body = send(token)
    except ServerRequestError:
        if arguments.server == DEFAULT and _agent_client.is_there(_agent_client.places(arguments)):
            # The server is elsewhere, and the agent knows where.
            return _by_agent(arguments, method, path, form, seconds)
        raise
    if status == 401 and token and "VIGIE_TOKEN" not in os.environ:
        status, body = send("")  # the token is another server's; looking may be free
    if status == 200:
        return body
    raise (ServerUnreachableError if status in PASSING else ServerRequestError)(
        f"{server.url}: {status}: {_reason(body)}"
    )


def decode(body: bytes, answer: type[T]) -> T:
    """Return the body as the declared answer of a route."""
    try:
        return msgspec.json.decode(body, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServerRequestError(f"Unexpected response: {error}. Is --server a vigie server?") from None


def place(arguments: argparse.Namespace) -> ServerAddress:
    """Return the address of the server, and its certificate if it is local."""
    here = read_address(arguments.data or flags.default_data())
    given = ServerAddress(arguments.server.rstrip("/"))
    if here is None or given.url not in (DEFAULT, here.url):
        return given
    # One that is gone left it, too: at the usual address there may be another, which --data does not mean.
    return here if arguments.data or listen.port_owners(urlsplit(here.url).port or 0) else given


def _by_agent(
    arguments: argparse.Namespace, method: str, path: str, form: bytes | None, seconds: float
) -> bytes:
    """Return the response of the server via this machine's agent, which vouches for us."""
    if method == "DELETE" or (method == "POST" and form is None):
        raise ServerRequestError("read-only via the agent. Changes need --server and a token")
    query = f"{'&' if '?' in path else '?'}{form.decode()}" if form else ""
    try:
        status, body = _agent_client.request(
            _agent_client.places(arguments), f"/server/{path}{query}", seconds
        )
    except _agent_client.NoAgentError as error:
        raise ServerUnreachableError(f"{error}. Run `vigie agent --server URL`") from None
    if status == 200:
        return body
    raise (ServerUnreachableError if status in PASSING else ServerRequestError)(
        f"via the agent: {status}: {_reason(body)}"
    )


def _send(
    method: str,
    url: str,
    form: bytes | None,
    token: str,
    seconds: float,
    context: ssl.SSLContext | None = None,
) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, form, headers, method=method)  # noqa: S310 - the scheme is checked
    try:
        with _opener(url, context).open(request, timeout=seconds) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except http.client.HTTPException as error:
        raise ServerUnreachableError(
            f"{url}: unexpected response ({error!r}). Is --server the URL of a server?"
        ) from None
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        advice = DISTRUST if isinstance(reason, ssl.SSLCertVerificationError) else UNREACHABLE
        raise ServerUnreachableError(f"{url}: {reason}. {advice}") from None


def _opener(url: str, context: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """Return an opener; requests to this machine use no proxy, which would see the token."""
    secure = urllib.request.HTTPSHandler(context=context)
    if is_here(url):
        return urllib.request.build_opener(secure, urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(secure)


def _local_token(arguments: argparse.Namespace, url: str) -> str:
    """Return the token of a local server; it is sent to no other."""
    here = is_here(url)
    if not here and not arguments.data:
        return ""
    file = (arguments.data or flags.default_data()) / "server-token"
    try:
        return "" if here and is_held_by_another(url, file) else load_or_create_token(file)
    except OSError:
        return ""


def is_here(url: str) -> bool:
    """Tell whether a URL is surely local."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def is_held_by_another(url: str, token: Path) -> bool:
    """Tell, and say, whether another user listens where the server of this machine should.

    While the server is away, anybody on this machine could listen in its place.
    """
    strangers = listen.port_owners(urlsplit(url).port or 80) - {0, token.stat().st_uid}
    if strangers:
        print(f"{url}: port in use by uid {min(strangers)}, token {token} not sent", file=sys.stderr)
    return bool(strangers)


def _reason(body: bytes) -> str:
    try:
        text = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        text = body[:500].decode(errors="replace").strip()
    return clean(text) or "no reason given"
