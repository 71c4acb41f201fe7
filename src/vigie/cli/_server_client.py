"""How commands ask a server: where it is, what it is shown, and what its errors mean."""

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
from urllib.parse import urlsplit

from vigie.cli import _agent_client
from vigie.cli.settings import flags
from vigie.common import listen
from vigie.common.token_file import load_or_create_token
from vigie.server.server_address import ServerAddress, read_address
from vigie.views.text.text_width import clean

DEFAULT, AGENT = "http://127.0.0.1:8000", "agent"
SECONDS = 130.0  # a little more than a query may take
AWAY = "is it running? vigie server, or vigie up; elsewhere: --server URL; on a node: --server agent"
PASSING = (502, 503, 504)  # statuses of servers that start or stop, and of proxies before them
DISTRUST = (
    "name who signed it: SSL_CERT_FILE=ca.pem vigie ...; on the server's machine its directory: --data DIR"
)


class ServerRequestError(Exception):
    """The server gave no answer; the message says why and what to type."""


class ServerUnreachableError(ServerRequestError):
    """The server cannot be reached, or is being stopped; it may come back."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that say whom to ask."""
    parser.add_argument(
        "--server",
        default=DEFAULT,
        metavar="URL",
        help="whom to ask (default: the server of this machine, %(default)s unless it says otherwise in its "
        "data directory, or if none is there: agent, which is the server of this machine's agent, which says "
        "who you are, so that no token is needed)",
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="where the server's token is, else in $VIGIE_TOKEN"
    )


def asked(
    arguments: argparse.Namespace,
    method: str,
    path: str,
    form: bytes | None = None,
    seconds: float = SECONDS,
) -> bytes:
    """Return the body of the answer; a token is shown if there is one, since it may let us see more."""
    if arguments.server == AGENT:
        return _by_agent(arguments, method, path, form, seconds)
    server = place(arguments)
    url = f"{server.url}/{path}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"--server {arguments.server!r} should be an address such as http://127.0.0.1:8000")
    token = os.environ.get("VIGIE_TOKEN") or _local_token(arguments, server.url)
    send = partial(_sent, method, url, form, seconds=seconds, context=server.context())
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
        f"{server.url} says {status}: {_reason(body)}"
    )


def place(arguments: argparse.Namespace) -> ServerAddress:
    """Return where the server is, and how it is known if it is the one of this machine."""
    here = read_address(arguments.data or flags.default_data())
    given = ServerAddress(arguments.server.rstrip("/"))
    if here is None or given.url not in (DEFAULT, here.url):
        return given
    # One that is gone left it, too: at the usual address there may be another, which --data does not mean.
    return here if arguments.data or listen.port_owners(urlsplit(here.url).port or 0) else given


def _by_agent(
    arguments: argparse.Namespace, method: str, path: str, form: bytes | None, seconds: float
) -> bytes:
    """Return what the server of this machine's agent answers to us, for whom the agent vouches."""
    if method == "DELETE" or (method == "POST" and form is None):
        raise ServerRequestError("by way of the agent one may look only; changes need --server and a token")
    query = f"{'&' if '?' in path else '?'}{form.decode()}" if form else ""
    try:
        status, body = _agent_client.asked(_agent_client.places(arguments), f"/server/{path}{query}", seconds)
    except _agent_client.NoAgentError as error:
        raise ServerUnreachableError(f"{error}; to start one: vigie agent --server URL") from None
    if status == 200:
        return body
    raise (ServerUnreachableError if status in PASSING else ServerRequestError)(
        f"by way of the agent: {status}: {_reason(body)}"
    )


def _sent(
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
            f"{url}: no answer as HTTP has it ({error!r}); is --server the address of a server?"
        ) from None
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        advice = DISTRUST if isinstance(reason, ssl.SSLCertVerificationError) else AWAY
        raise ServerUnreachableError(f"{url}: {reason}; {advice}") from None


def _opener(url: str, context: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """Return what asks; no proxy stands between us and this machine's server, as it would see the token."""
    secure = urllib.request.HTTPSHandler(context=context)
    if is_here(url):
        return urllib.request.build_opener(secure, urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(secure)


def _local_token(arguments: argparse.Namespace, url: str) -> str:
    """Return the token of a server on this machine; it is shown to no other."""
    here = is_here(url)
    if not here and not arguments.data:
        return ""
    file = (arguments.data or flags.default_data()) / "server-token"
    try:
        return "" if here and is_held_by_another(url, file) else load_or_create_token(file)
    except OSError:
        return ""


def is_here(url: str) -> bool:
    """Tell whether an address is on this machine for sure."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def is_held_by_another(url: str, token: Path) -> bool:
    """Tell, and say, whether another user listens where the server of this machine should.

    While the server is away, anybody on this machine could listen in its place.
    """
    strangers = listen.port_owners(urlsplit(url).port or 80) - {0, token.stat().st_uid}
    if strangers:
        print(f"{url} is held by uid {min(strangers)}, so it is not shown {token}", file=sys.stderr)
    return bool(strangers)


def _reason(body: bytes) -> str:
    try:
        text = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        text = body[:500].decode(errors="replace").strip()
    return clean(text) or "nothing more"
