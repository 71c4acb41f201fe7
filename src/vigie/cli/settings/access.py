"""The settings of the server about who may come in, and how."""

from __future__ import annotations

import ipaddress
from typing import Any

from vigie.common.config import Setting, one_of, switch, text, words


def networks(value: Any) -> list[str]:
    """Take a list of addresses or networks."""
    for word in words(value):
        try:
            ipaddress.ip_network(word)
        except ValueError as error:
            raise ValueError(f'should be a list such as ["10.0.0.1", "fd00::/64"]: {error}') from None
    return words(value)


ACCESS = (
    Setting(
        "server",
        "auth",
        "loopback",
        "Who may view without credentials: `loopback` (programs on this machine, unless a request was passed "
        "on), `always` (nobody; set this behind a proxy) or `open` (anybody who reaches the port).",
        one_of("loopback", "always", "open"),
    ),
    Setting(
        "server",
        "names",
        [],
        "Names of this server besides localhost under which it may be viewed and used from a browser.",
        words,
    ),
    Setting(
        "server",
        "proxies",
        [],
        "Addresses of proxies that are believed about the client's address, TLS and, by proxy_user_header, "
        "its name. With 127.0.0.1 every program on this machine is believed.",
        networks,
    ),
    Setting(
        "server",
        "proxy_user_header",
        "",
        "The header in which these proxies say who has signed in, such as X-Remote-User. "
        "A name without an account may view.",
        text,
    ),
    Setting(
        "server",
        "admin_password_file",
        "",
        "A file whose first line is to be the password of admin, read at each start.",
        text,
    ),
    Setting(
        "server",
        "vouching",
        True,
        "Whether people on a node may look without credentials, on the word of its agent: each as a `user` "
        "of the Unix name that the kernel tells the agent.",
        switch,
    ),
    Setting(
        "server",
        "privacy",
        "open",
        "Whether viewers and users see whose a job is: `open` (yes) or `own` (only their own; names, jobs "
        "and commands of others are pseudonyms in every answer).",
        one_of("open", "own"),
    ),
    Setting(
        "server",
        "privacy_labels",
        [],
        "Labels of series, besides user, job_id, command and the like, that `privacy = own` is to hide.",
        words,
    ),
    Setting(
        "server",
        "hide_hosts",
        False,
        "Whether names and addresses of hosts are pseudonyms in all that viewers are told; users and admins "
        "see them.",
        switch,
    ),
    Setting("server", "tls_cert", "", "A certificate in PEM form, with its chain: TLS is spoken.", text),
    Setting("server", "tls_key", "", "The key of tls_cert, when it does not stand in it.", text),
)
