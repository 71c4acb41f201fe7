"""How commands ask a server: where it is, what it is shown, and what its errors mean."""

from __future__ import annotations

import argparse
import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from vigie.agent.scrape_token import kept_token
from vigie.cli import _settings

SECONDS = 130.0  # a little more than a query may take


class Unanswered(Exception):
    """The server gave no answer; the message says why and what to type."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that say whom to ask."""
    parser.add_argument(
        "--server", default="http://127.0.0.1:8000", metavar="URL", help="whom to ask (default: %(default)s)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="where the server's token is, else in $VIGIE_TOKEN"
    )


def asked(arguments: argparse.Namespace, method: str, path: str, form: bytes | None = None) -> bytes:
    """Return the body of the answer; the token is shown where it is needed and there is one."""
    url = f"{arguments.server.rstrip('/')}/{path}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"--server {arguments.server!r} should be an address such as http://127.0.0.1:8000")
    status, body = _sent(method, url, form, os.environ.get("VIGIE_TOKEN", ""))
    if status in (401, 403) and "VIGIE_TOKEN" not in os.environ and (token := _local_token(arguments)):
        status, body = _sent(method, url, form, token)
    if status == 200:
        return body
    raise Unanswered(f"{arguments.server} says {status}: {_reason(body)}")


def _sent(method: str, url: str, form: bytes | None, token: str) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, form, headers, method=method)  # noqa: S310 - the scheme is checked
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise Unanswered(f"{url}: {reason}; is it running? vigie server") from None


def _local_token(arguments: argparse.Namespace) -> str:
    """Return the token of a server on this machine; it is shown to no other."""
    if urlsplit(arguments.server).hostname not in ("127.0.0.1", "localhost", "::1") and not arguments.data:
        return ""
    directory = arguments.data or _settings.default_data()
    try:
        return kept_token(directory / "server-token")
    except OSError:
        return ""


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body[:500].decode(errors="replace").strip() or "nothing more"
