"""Configuration: one table of settings; flags win over environment over file over default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vigie.common.logs import FORMS, LEVELS
from vigie.common.redaction import redact_url
from vigie.sources.core.source import Source, SourceOption


class ConfigError(Exception):
    """A setting that cannot be used; the message names it, its place and the cure."""


class Setting(NamedTuple):
    """One key of the configuration file, its flag and its environment variable."""

    section: str
    name: str
    default: Any
    help: str
    check: Callable[[Any], Any]

    @property
    def key(self) -> str:
        """Return the dotted name."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return "VIGIE_" + self.key.replace(".", "_").upper()


class Value(NamedTuple):
    """An effective value and where it came from."""

    value: Any
    origin: str


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("should be text in quotes")
    return value


def words(value: Any) -> list[str]:
    """Take a list of words, or one text with commas."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    raise ValueError('should be a list of words, such as ["cpu", "netdev"]')


def seconds(least: float, most: float) -> Callable[[Any], float]:
    """Take a number of seconds between two bounds."""
    return number(least, most, "seconds")


def number(least: float, most: float, unit: str = "") -> Callable[[Any], float]:
    """Take a number between two bounds."""

    def check(value: Any) -> float:
        try:
            given = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"should be a number of {unit}" if unit else "should be a number") from None
        if not least <= given <= most or isinstance(value, bool):
            raise ValueError(f"should be between {least:g} and {most:g} {unit}".rstrip())
        return given

    return check


def url(value: Any) -> str:
    """Take an address such as http://host:9090, or nothing."""
    if text(value) and not re.fullmatch(r"https?://[^/\s?#]+[^\s?#]*", value):
        raise ValueError("should be an address such as http://127.0.0.1:9090")
    return str(value)


def switch(value: Any) -> bool:
    """Take true or false."""
    if str(value).lower() not in ("true", "false"):
        raise ValueError("should be true or false")
    return str(value).lower() == "true"


def pairs(separator: str, example: str) -> Callable[[Any], list[str]]:
    """Take a list of names with a value each."""

    def check(value: Any) -> list[str]:
        for word in words(value):
            name, found, rest = word.partition(separator)
            if not found or not name.strip() or not rest.strip() or not word.isprintable():
                raise ValueError(f'should be a list such as ["{example}"]')
        return words(value)

    return check


def one_of(*choices: str) -> Callable[[Any], str]:
    """Take one of a few words."""

    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError("should be one of " + ", ".join(choices))
        return str(value)

    return check


def address(value: Any) -> str:
    """Take HOST:PORT."""
    host, colon, port = text(value).rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("should be an address and a port, such as 127.0.0.1:9797")
    return str(value)


def peer(section: str) -> tuple[Setting, ...]:
    """Return the settings of how a peer is shown credentials, and how it is known."""
    variable = f"$VIGIE_{section.upper()}"
    password = f"A file that holds the password; without it {variable}_PASSWORD is used."
    token = f"A file that holds a bearer token; without it {variable}_TOKEN is used."
    return (
        Setting(section, "user", "", "The user's name for basic authentication.", text),
        Setting(section, "password_file", "", password, text),
        Setting(section, "token_file", "", token, text),
        Setting(section, "ca_file", "", "Trust these certificates instead of the system's.", text),
        Setting(section, "cert_file", "", "The certificate to show to the peer.", text),
        Setting(section, "key_file", "", "The key of cert_file, when it does not stand in it.", text),
        Setting(section, "server_name", "", "The name in the peer's certificate, if not its host.", text),
        Setting(section, "insecure", False, "Do not check who the peer is. Only to find a fault.", switch),
    )


AGENT = (
    Setting(
        "agent",
        "listen",
        "127.0.0.1:9797",
        "Where /metrics, /status and /healthz are served. Port 0 takes a free one. "
        "Beyond loopback a scrape token is asked for, unless agent.auth says otherwise.",
        address,
    ),
    Setting(
        "agent",
        "auth",
        "token",
        "What a scraper beyond loopback must show: `token` (the scrape token of the data directory) "
        "or `none` (anybody who reaches the port may read).",
        one_of("token", "none"),
    ),
    Setting(
        "agent",
        "data",
        "",
        "State directory. Empty: /var/lib/vigie as root, else $XDG_DATA_HOME/vigie.",
        text,
    ),
    Setting("agent", "node", "", "This node's name. Empty: the host name.", text),
    Setting("agent", "cadence", 10.0, "Seconds between two reads of the quick sources.", seconds(1, 60)),
    Setting("agent", "sources", [], "Read only these sources. Empty: all that are on by default.", words),
    Setting("agent", "no_sources", [], "Do not read these sources.", words),
    Setting(
        "agent",
        "with_sources",
        [],
        "Read these sources too, which are off by default.",
        words,
    ),
    Setting("agent", "source_dirs", [], "Directories with sources of your own, one in each .py file.", words),
    Setting("agent", "procfs", "/proc", "Where procfs is mounted.", text),
    Setting("agent", "sysfs", "/sys", "Where sysfs is mounted.", text),
    Setting("agent", "rootfs", "/", "Where the host's root file system is mounted.", text),
    Setting(
        "agent",
        "log_json",
        "",
        "Append each frame as a line of JSON to this file; - is standard output.",
        text,
    ),
    Setting(
        "agent",
        "socket",
        "",
        "The Unix socket for commands on this machine; `off` for none. Empty: agent.sock in the data "
        "directory, or in /run/vigie if that is /var/lib/vigie.",
        text,
    ),
    Setting("agent", "log_level", "info", "How much the agent logs.", one_of(*LEVELS)),
    Setting(
        "agent", "log_format", "text", "How the agent logs: text, or a line of JSON each.", one_of(*FORMS)
    ),
)


SERVER = (
    Setting(
        "server",
        "listen",
        "127.0.0.1:8000",
        "Where everything is served. Port 0 takes a free one; a taken port gives way to the next free one. "
        "Beyond loopback every request needs the token of the data directory.",
        address,
    ),
    Setting(
        "server",
        "data",
        "",
        "State directory. Empty: /var/lib/vigie as root, else $XDG_DATA_HOME/vigie.",
        text,
    ),
    Setting(
        "server",
        "store",
        "",
        "A Prometheus-compatible engine to read from instead of the embedded store, such as "
        "http://127.0.0.1:9090.",
        url,
    ),
    Setting(
        "server",
        "store_write",
        "",
        "Where remote write is passed on to when server.store is set, such as "
        "http://127.0.0.1:9090/api/v1/write.",
        url,
    ),
    Setting("server", "raw_days", 15.0, "Days for which samples are kept as they came.", number(0.01, 36500)),
    Setting(
        "server",
        "store_gigabytes",
        0.0,
        "The most that the embedded store may take on disk; the oldest goes first. "
        "0: a fifth of the file system.",
        number(0, 1e6),
    ),
    Setting("server", "query_timeout", 120.0, "Seconds that a query may take.", seconds(0.1, 3600)),
    Setting("server", "query_samples", 50e6, "Samples that a query may hold in memory.", number(1, 1e12)),
    Setting("server", "query_points", 11000.0, "Points in each series of an answer.", number(1, 1e7)),
    Setting("server", "log_level", "info", "How much the server logs.", one_of(*LEVELS)),
    Setting(
        "server", "log_format", "text", "How the server logs: text, or a line of JSON each.", one_of(*FORMS)
    ),
    Setting(
        "server",
        "access_log",
        "changes",
        "Which requests are logged, with who, what, status, bytes and seconds: `changes` (those that change "
        "something, were refused or failed), `all` (but health checks and /metrics that succeed) or `off`.",
        one_of("changes", "all", "off"),
    ),
)


REMOTE_WRITE = (
    Setting(
        "remote_write",
        "url",
        "",
        "Send what is measured to this address by Prometheus remote write, such as "
        "http://prometheus:9090/api/v1/write.",
        url,
    ),
    Setting(
        "remote_write",
        "external_labels",
        [],
        "Labels for every series that does not have them, such as cluster=c1.",
        pairs("=", "cluster=c1"),
    ),
    Setting(
        "remote_write",
        "headers",
        [],
        "Headers for every request, such as X-Scope-OrgID: one.",
        pairs(":", "X-Scope-OrgID: one"),
    ),
    *peer("remote_write"),
    Setting(
        "remote_write",
        "queue_megabytes",
        64.0,
        "What may wait on disk while the peer is away; the oldest is dropped first.",
        number(1, 1e6),
    ),
    Setting("remote_write", "batch_samples", 2000.0, "Samples in a request, about.", number(1, 100_000)),
    Setting("remote_write", "batch_seconds", 5.0, "How long a sample may wait for others.", seconds(0, 60)),
)


def source_settings(sources: Iterable[Source]) -> tuple[Setting, ...]:
    """Return the settings that the sources themselves declare."""
    return tuple(
        Setting(f"source.{source.name}", option.name, option.default, option.help, _checked(option))
        for source in sources
        for option in source.options
    )


def _checked(option: SourceOption) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        option.check(text(value))
        return str(value)

    return check


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
            raise ConfigError(f"{file}: there is no such file") from None
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
        raise ConfigError(f"{origin}: {setting.key} = {redact_url(repr(given))} {error}") from None


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
