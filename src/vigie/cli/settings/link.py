"""The settings of links, in the section [link]."""

from __future__ import annotations

from typing import Any

from vigie.common.config import Setting, number, pairs, text, url, words
from vigie.wire.commands import REFUSABLE


def urls(value: Any) -> list[str]:
    return [url(word) for word in words(value)]


def refusals(value: Any) -> list[str]:
    """Take a list of what a server may ask for."""
    found = words(value)
    for word in found:
        if word not in REFUSABLE:
            raise ValueError(f"{word!r} should be one of {', '.join(REFUSABLE)}")
    return found


LINK = (
    Setting(
        "link",
        "server",
        [],
        "Servers to send everything to, such as http://head:8000. The agent dials; it needs no open port.",
        urls,
    ),
    Setting(
        "link",
        "token_file",
        [],
        "A file that holds the join token, needed until the server has given this node its key: one for all "
        "servers, or one for each. Without it $VIGIE_TOKEN is used.",
        words,
    ),
    Setting(
        "link",
        "fingerprint",
        [],
        "The SHA-256 fingerprint of the server's certificate, which alone is trusted then: one for all, "
        "or one for each.",
        words,
    ),
    Setting("link", "ca_file", "", "Trust these certificates instead of the system's.", text),
    Setting(
        "link",
        "labels",
        [],
        "Words about this node for lists and filters, such as rack=r1; they are on no series.",
        pairs("=", "rack=r1"),
    ),
    Setting(
        "link",
        "buffer_megabytes",
        64.0,
        "What may wait on disk while a server is away; 8 MB more wait in memory. The oldest goes first.",
        number(1, 1e6),
    ),
    Setting(
        "link",
        "refuse",
        [],
        f"What this node does not do for a server, out of {', '.join(REFUSABLE)}.",
        refusals,
    ),
)
