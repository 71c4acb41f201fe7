"""Settings and their values: flags win over environment over file over default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vigie.common.redaction import redact_url


class ConfigError(Exception):
    """An invalid setting; the message names it, its origin and what to use."""


class Setting(NamedTuple):
    """One key of the configuration file; its flags and its environment variable follow from it."""

    section: str
    name: str
    default: Any
    help: str
    check: Callable[[Any], Any]
    commands: tuple[str, ...] = ()  # those that have a flag for it
    flag: str = ""  # where it is not the name
    repeated: bool = False  # the flag may be given more than once

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return "VIGIE_" + self.key.replace(".", "_").upper()

    @property
    def option(self) -> str:
        return "--" + (self.flag or self.name.replace("_", "-"))


class Value(NamedTuple):
    """An effective value and where it came from."""

    value: Any
    origin: str


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("use text in quotes")
    return value


def words(value: Any) -> list[str]:
    """Check a list of words, or one text with commas."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    raise ValueError('use a list such as ["cpu", "netdev"]')


def seconds(least: float, most: float) -> Callable[[Any], float]:
    """Check a number of seconds between two bounds."""
    return number(least, most, "seconds")


def number(least: float, most: float, unit: str = "") -> Callable[[Any], float]:
    """Check a number between two bounds."""

    def check(value: Any) -> float:
        try:
            given = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"use a number of {unit}" if unit else "use a number") from None
        if not least <= given <= most or isinstance(value, bool):
            raise ValueError(f"use a number between {least:g} and {most:g} {unit}".rstrip())
        return given

    return check


def url(value: Any) -> str:
    """Check a URL such as http://host:9090, or empty text."""
    if text(value) and not re.fullmatch(r"https?://[^/\s?#]+[^\s?#]*", value):
        raise ValueError("use a URL such as http://127.0.0.1:9090")
    return str(value)


def switch(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ValueError("use true or false")
    return str(value).lower() == "true"


def pairs(separator: str, example: str) -> Callable[[Any], list[str]]:
    """Check a list of names with a value each."""

    def check(value: Any) -> list[str]:
        for word in words(value):
            name, found, rest = word.partition(separator)
            if not found or not name.strip() or not rest.strip() or not word.isprintable():
                raise ValueError(f'use a list such as ["{example}"]')
        return words(value)

    return check


def one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError("use one of " + ", ".join(choices))
        return str(value)

    return check


def address(value: Any) -> str:
    """Check HOST:PORT."""
    host, colon, port = text(value).rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("use an address and a port, such as 127.0.0.1:9797")
    return str(value)


def peer(section: str) -> tuple[Setting, ...]:
    """Return the settings of credentials for a peer, and of its TLS."""
    variable = f"$VIGIE_{section.upper()}"
    password = f"File with the password; without it {variable}_PASSWORD is used."
    token = f"File with a bearer token; without it {variable}_TOKEN is used."
    return (
        Setting(section, "user", "", "User name for basic authentication.", text),
        Setting(section, "password_file", "", password, text),
        Setting(section, "token_file", "", token, text),
        Setting(section, "ca_file", "", "Trust these certificates instead of the system's.", text),
        Setting(section, "cert_file", "", "Client certificate.", text),
        Setting(section, "key_file", "", "Key of cert_file, unless that holds it.", text),
        Setting(section, "server_name", "", "Name in the peer's certificate, if not its host.", text),
        Setting(section, "insecure", False, "Do not verify the certificate. For debugging only.", switch),
    )


def default_file(environ: Mapping[str, str]) -> Path:
    """Return the file that is read when none is named."""
    if os.geteuid() == 0:
        return Path("/etc/vigie/vigie.toml")
    home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "vigie" / "vigie.toml"


def read_file(path: Path | None, environ: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """Return the file's keys, dotted, and its name; a named file must exist, the usual one may not."""
    named = path or (Path(environ["VIGIE_CONFIG"]) if environ.get("VIGIE_CONFIG") else None)
    file = named or default_file(environ)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if named:
            raise ConfigError(f"{file}: no such file") from None
        return {}, str(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from None
    return dict(_dotted(content)), str(file)


def resolve(
    settings: Iterable[Setting],
    *,
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    file: tuple[dict[str, Any], str],
) -> dict[str, Value]:
    """Return every setting's effective value and where it came from; unknown keys are errors."""
    settings = list(settings)
    known = {setting.key for setting in settings}
    keys, path = file
    for key in keys:
        if key not in known:
            raise ConfigError(f"{path}: unknown key {key}{_nearest(key, known)}")
    return {setting.key: _effective(setting, flags, environ, keys, path) for setting in settings}


def _effective(
    setting: Setting, flags: Mapping[str, Any], environ: Mapping[str, str], keys: dict[str, Any], path: str
) -> Value:
    if flags.get(setting.key) is not None:
        given, origin = flags[setting.key], "flag"
    elif setting.variable in environ:
        given, origin = environ[setting.variable], f"${setting.variable}"
    elif setting.key in keys:
        given, origin = keys[setting.key], path
    else:
        return Value(setting.default, "default")
    try:
        return Value(setting.check(given), origin)
    except ValueError as error:
        raise ConfigError(f"{origin}: invalid {setting.key} {redact_url(repr(given))}: {error}") from None


def _dotted(content: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _nearest(key: str, known: Iterable[str]) -> str:
    import difflib  # only for the error: it is not small

    near = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
