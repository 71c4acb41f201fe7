"""Passwords in addresses are for the peer's eyes only."""

from __future__ import annotations

import re

USERINFO = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]*(?=@)")


def redacted(text: str) -> str:
    """Return a text, such as an address, without the passwords that may stand in its addresses."""
    return USERINFO.sub(r"\1:***", text)
