"""Settings of access control."""

from __future__ import annotations

import ipaddress
from typing import Any

from vigie.cli.settings.server import COMMANDS
from vigie.common.config import Setting, one_of, switch, text, words


def networks(value: Any) -> list[str]:
    """Check a list of addresses or networks."""
    for word in words(value):
        try:
            ipaddress.ip_network(word)
        except ValueError as error:
            raise ValueError(f'use a list such as ["10.0.0.1", "fd00::/64"]: {error}') from None
    return words(value)


SETTINGS = (
    Setting(
        "server",
        "auth",
        "loopback",
        "Who needs credentials to view: `loopback` (all but local programs), `always` (everyone; set this "
        "behind a proxy) or `open` (no one).",
        one_of("loopback", "always", "open"),
        COMMANDS,
    ),
    Setting(
        "server",
        "names",
        [],
        "Host names under which browsers may use this server, besides localhost.",
        words,
        COMMANDS,
    ),
    Setting(
        "server",
        "proxies",
        [],
        "Trusted proxies, whose headers give the client's address, TLS and, by proxy_user_header, its name. "
        "127.0.0.1 trusts every program on this machine.",
        networks,
        COMMANDS,
    ),
    Setting(
        "server",
        "proxy_user_header",
        "",
        "Header with the user name that trusted proxies set, such as X-Remote-User. "
        "A name without an account may view.",
        text,
        COMMANDS,
    ),
    Setting(
        "server",
        "admin_password_file",
        "",
        "File whose first line is the admin password, read at each start.",
        text,
        COMMANDS,
    ),
    Setting(
        "server",
        "vouching",
        True,
        "Users on a node may view via its agent without credentials: as the `user` of their Unix name while "
        "they hold something on that node, else as a viewer.",
        switch,
        COMMANDS,
    ),
    Setting(
        "server",
        "login_nodes",
        [],
        "Nodes where every user is the `user` of their Unix name when viewing via the agent.",
        words,
        COMMANDS,
    ),
    Setting(
        "server",
        "privacy",
        "open",
        "Show other users' jobs: `open` (yes) or `own` (names, jobs and commands of others are pseudonyms in "
        "every response).",
        one_of("open", "own"),
        COMMANDS,
    ),
    Setting(
        "server",
        "privacy_labels",
        [],
        "More labels that `privacy = own` hides, besides user, job_id, command and the like.",
        words,
        COMMANDS,
    ),
    Setting(
        "server",
        "hide_hosts",
        False,
        "Show viewers pseudonyms for names and addresses of hosts; users and admins see them.",
        switch,
        COMMANDS,
    ),
    Setting(
        "server",
        "cluster_reporters",
        [],
        "Nodes that may report allocations of other nodes, such as the node of Slurm's controller. "
        "The server's own machine always may.",
        words,
        COMMANDS,
    ),
    Setting("server", "tls_cert", "", "Certificate with its chain, PEM. Enables TLS.", text, COMMANDS),
    Setting("server", "tls_key", "", "Key of tls_cert, unless that holds it.", text, COMMANDS),
)
