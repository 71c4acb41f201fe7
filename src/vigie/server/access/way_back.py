"""Where a sign-in leads: to the address that was asked for, and never out of this server or its prefix."""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.types import Scope

FIELD = "next"
MOST = 2000  # characters of an address; a longer one leads to the start
LOGIN = "login"  # who asked to sign in has no page to go back to
# What an address may be made of; neither a control character nor what browsers read as another slash.
_WRITTEN = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:@%/-]*(\?[^\x00-\x20\x7f-\U0010ffff\\#]*)?")


def asked_for(scope: Scope) -> str:
    """Return the address of a request from where the server begins, or nothing where one cannot go back.

    >>> asked_for({"raw_path": b"/gpu/n1/0", "path": "/gpu/n1/0", "query_string": b"at=1"})
    'gpu/n1/0?at=1'
    """
    path = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string", b"")
    asked = path.partition(b"?")[0] + (b"?" + query if query else b"")
    return checked(asked.decode("latin-1").removeprefix("/"))


def checked(address: str) -> str:
    """Return an address if it certainly stays below where the server begins, else nothing."""
    if len(address) > MOST or not _WRITTEN.fullmatch(address):
        return ""
    path = address.partition("?")[0]
    first, *_ = steps = unquote(path).replace("\\", "/").split("/")
    leaves = ".." in steps or "." in steps or (path and not first)
    return "" if leaves or first == LOGIN else address
