"""Passwords in addresses, and tokens, are for the peer's eyes only."""

from __future__ import annotations

import re

USERINFO = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]*(?=@)")
SHOWN = re.compile(r"(?i)(\b(?:bearer|basic) +)[\w.~+/=-]{16,}")
FIELD = re.compile(r"(?i)([?&](?:once|token|password|key|secret)=)[^\s&#\"']+")


def redact_url(text: str) -> str:
    """Return a text, such as an address, without the passwords and tokens that may stand in it."""
    text = USERINFO.sub(r"\1:***", text)
    return FIELD.sub(r"\1***", SHOWN.sub(r"\1***", text))
