"""What the settings say about who may come in."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vigie.common.config import ConfigError
from vigie.common.token_file import read_token
from vigie.server.auth.authenticator import AuthPolicy
from vigie.server.auth.passwords import first_line
from vigie.server.http.tls import Certificate
from vigie.server.privacy.redactor import Privacy


def read_policy(values: Mapping[str, Any]) -> AuthPolicy:
    """Return who may come in, or raise ConfigError."""
    proxies = tuple(map(ipaddress.ip_network, values["proxies"]))
    if values["proxy_user_header"] and not proxies:
        raise ConfigError("server.proxy_user_header needs server.proxies, the addresses that may set it")
    names = tuple(name.lower() for name in values["names"])
    header, login_nodes = values["proxy_user_header"], tuple(values["login_nodes"])
    return AuthPolicy(values["auth"], names, proxies, header, values["vouching"], login_nodes)


def tls(values: Mapping[str, Any]) -> Certificate | None:
    if values["tls_key"] and not values["tls_cert"]:
        raise ConfigError("server.tls_key needs server.tls_cert, the certificate that it belongs to")
    return Certificate(values["tls_cert"], values["tls_key"]) if values["tls_cert"] else None


def privacy(values: Mapping[str, Any], data: Path) -> Privacy:
    """Return what hides people from each other and hosts from viewers, with a key of its own."""
    own, hosts = values["privacy"] == "own", values["hide_hosts"]
    if not own and not hosts:
        return Privacy()
    if values["store"]:
        raise ConfigError(
            f"server.{'privacy = own' if own else 'hide_hosts'} needs the embedded store: "
            "answers of server.store are not ours"
        )
    return Privacy(read_token(data / "privacy-key"), values["privacy_labels"], own=own, hosts=hosts)


def admin_password(values: Mapping[str, Any]) -> str:
    """Return the admin's password that a file holds, or nothing when no file is named."""
    file = values["admin_password_file"]
    if not file:
        return ""
    password = first_line(Path(file).read_text(encoding="utf-8"))
    if not password:
        raise ConfigError(f"server.admin_password_file {file} holds no password in its first line")
    return password
