"""Settings of links to servers."""

from __future__ import annotations

from typing import Any

from vigie.common.config import Setting, number, pairs, text, url, words
from vigie.wire.commands import REFUSABLE


def urls(value: Any) -> list[str]:
    return [url(word) for word in words(value)]


def refusals(value: Any) -> list[str]:
    """Check a list of commands."""
    names = words(value)
    for word in names:
        if word not in REFUSABLE:
            raise ValueError(f"{word!r}: use {', '.join(REFUSABLE)}")
    return names


COMMANDS = ("agent",)
SETTINGS = (
    Setting(
        "link",
        "server",
        [],
        "Servers to send to, such as http://head:8000. The agent connects; it needs no open port.",
        urls,
        COMMANDS,
        repeated=True,
    ),
    Setting(
        "link",
        "token_file",
        [],
        "File with the join token, needed until the server has issued this node's key: one for all "
        "servers, or one for each. Without it $VIGIE_TOKEN is used.",
        words,
        COMMANDS,
        repeated=True,
    ),
    Setting(
        "link",
        "fingerprint",
        [],
        "Trust only this certificate of the server (SHA-256 fingerprint): one for all, or one for each.",
        words,
        COMMANDS,
        repeated=True,
    ),
    Setting("link", "ca_file", "", "Trust these certificates instead of the system's.", text),
    Setting(
        "link",
        "labels",
        [],
        "Node labels for lists and filters, such as rack=r1; not added to series.",
        pairs("=", "rack=r1"),
        COMMANDS,
        flag="label",
        repeated=True,
    ),
    Setting(
        "link",
        "buffer_megabytes",
        64.0,
        "Maximum backlog on disk while a server is unreachable; 8 MB more are held in memory. "
        "The oldest is dropped first.",
        number(1, 1e6),
    ),
    Setting(
        "link",
        "refuse",
        [],
        f"Commands that this node refuses, of {', '.join(REFUSABLE)}.",
        refusals,
    ),
)
