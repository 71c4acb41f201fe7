"""Flags of a command, derived from the settings, and the machine they describe."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from vigie.agent import metrics
from vigie.agent.dialects.catalog import NEEDED_SOURCES
from vigie.agent.source_reader import SourceReader
from vigie.cli.settings.registry import all_settings
from vigie.common import config
from vigie.common.clock import SystemClock
from vigie.common.config import ConfigError, Setting, Value
from vigie.sources.core import registry
from vigie.sources.core.host import MAX_OPEN_FILES, Host, HostRoots
from vigie.sources.core.source import Source
from vigie.sources.core.tree import FileBudget
from vigie.sources.nvidia import open_driver

WHICH_SOURCES = ("agent.source_dirs", "agent.sources", "agent.with_sources", "agent.dialects")
ERRORS = (ConfigError, registry.InvalidSourceError, OSError)
SYSTEM_DATA, RUN = Path("/var/lib/vigie"), Path("/run/vigie")


class Settings:
    """Every effective setting, and the sources that it selects."""

    def __init__(
        self,
        settings: Sequence[Setting],
        values: dict[str, Value],
        sources: list[Source],
        left_out: list[str],
    ) -> None:
        self.settings = settings
        self.values = values
        self.sources = sources
        self.left_out = left_out

    def __getitem__(self, key: str) -> Any:
        """Return the effective value of a key of the agent's section."""
        return self.values[f"agent.{key}"].value

    @property
    def effective(self) -> dict[str, Any]:
        return {key: value.value for key, value in self.values.items()}

    def section(self, name: str) -> dict[str, Any]:
        keys = {key.removeprefix(f"{name}."): value for key, value in self.values.items()}
        return {key: value.value for key, value in keys.items() if "." not in key}


def add_arguments(parser: argparse.ArgumentParser, command: str) -> None:
    """Declare one flag for each setting of a command that reads sources."""
    add_flags(parser, command)
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="SOURCE.NAME=VALUE",
        help="setting of a source, such as textfile.directory=/var/lib/metrics; may be repeated",
    )


def add_flags(parser: argparse.ArgumentParser, command: str) -> None:
    """Declare one flag for each setting that applies to a command."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file")
    for setting in all_settings():
        if command in setting.commands:
            parser.add_argument(
                setting.option,
                dest=setting.key,
                action="append" if setting.repeated else "store",
                metavar=setting.name.rpartition("_")[2].upper(),
                help=_describe(setting),
            )


def resolve(arguments: argparse.Namespace) -> Settings:
    """Return the settings from flags, environment, file and defaults, or raise ConfigError."""
    flags = {setting.key: getattr(arguments, setting.key, None) for setting in all_settings()}
    flags.update(_parse_options(getattr(arguments, "option", ())))
    file = config.read_file(arguments.config, os.environ)
    sources = _load_sources(flags, file)
    settings = all_settings(sources)
    _refuse_unknown(flags, settings)
    values = config.resolve(settings, flags=flags, environ=os.environ, file=file)
    selected = _select_sources(sources, values)
    names = {source.name for source in sources} | set(registry.optional_names())
    return Settings(settings, values, selected, sorted(names - {source.name for source in selected}))


def _load_sources(flags: dict[str, Any], file: tuple[dict[str, Any], str]) -> list[Source]:
    """Return the sources; of the optional ones only those that some setting names."""
    which = [setting for setting in all_settings() if setting.key in WHICH_SOURCES]
    only = ({key: value for key, value in file[0].items() if key in WHICH_SOURCES}, file[1])
    values = config.resolve(which, flags=flags, environ=os.environ, file=only)
    wanted = {*values["agent.sources"].value, *values["agent.with_sources"].value, *_needed_sources(values)}
    given = [*flags, *file[0], *(name.lower().replace("_", ".", 2) for name in os.environ)]
    for name in registry.optional_names():
        options = (f"source.{name}.", f"vigie.source.{name}_")
        if any(key.startswith(options) for key in given):
            wanted.add(name)
    return registry.find_sources(values["agent.source_dirs"].value, wanted)


def node_name(settings: Settings) -> str:
    return settings["node"] or socket.gethostname()


def build_readers(settings: Settings, recording: Path | None = None) -> list[SourceReader]:
    """Return a reader for each selected source, of this machine or of a recorded one."""
    budget = FileBudget(MAX_OPEN_FILES)
    roots = HostRoots(settings["procfs"], settings["sysfs"], settings["rootfs"])
    gpus = settings.section("gpus")
    nvml = open_driver(gpus["nvml_library"], node_name(settings), gpus["host_label"])
    declared = [metric for source in settings.sources for metric in source.metrics]
    reserved = frozenset(metric.name for metric in (*declared, *metrics.METRICS))
    found = []
    for source in settings.sources:
        options = {o.name: settings.values[f"source.{source.name}.{o.name}"].value for o in source.options}
        # A slow source may have thousands of files and is read seldom: it opens them each time.
        kept = None if source.slow else budget
        if recording:
            from vigie.sources.core.replay import replay  # only when used: it knows every call's answer

            host = replay(str(recording), options)
        else:
            host = Host(roots, options=options, budget=kept, nvml=nvml)
        host.reserved_names = reserved - {metric.name for metric in source.metrics}
        found.append(SourceReader(source, host, SystemClock()))
    if found:
        found[-1].host.on_close.append(nvml.close)
    return found


def data_directory(settings: Settings, section: str = "agent") -> Path:
    """Return where state is kept."""
    if settings.values[f"{section}.data"].value:
        return Path(settings.values[f"{section}.data"].value)
    return default_data()


def socket_path(settings: Settings) -> Path | None:
    """Return where the agent listens for commands on this machine, if it does."""
    if settings["socket"] == "off":
        return None
    if settings["socket"]:
        return Path(settings["socket"])
    return (RUN if data_directory(settings) == SYSTEM_DATA else data_directory(settings)) / "agent.sock"


def default_data() -> Path:
    """Return where state is kept unless a setting says otherwise."""
    if os.geteuid() == 0:
        return SYSTEM_DATA
    return Path(os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")) / "vigie"


def _select_sources(sources: list[Source], values: dict[str, Value]) -> list[Source]:
    names = {source.name for source in sources} | set(registry.optional_names())
    chosen = {name: values[f"agent.{name}"].value for name in ("sources", "no_sources", "with_sources")}
    for setting, words in chosen.items():
        for word in words:
            if word not in names:
                raise ConfigError(f"agent.{setting}: unknown source {word!r}: use {_list(names)}")
    wanted = set(chosen["sources"]) or {source.name for source in sources if source.default}
    wanted = (wanted | set(chosen["with_sources"]) | _needed_sources(values)) - set(chosen["no_sources"])
    if not wanted:
        raise ConfigError("no sources selected: see --sources, --no-sources and --with-sources")
    return [source for source in sources if source.name in wanted]


def _needed_sources(values: dict[str, Value]) -> set[str]:
    """Return the sources that other exporters' names are derived from."""
    return {name for dialect in values["agent.dialects"].value for name in NEEDED_SOURCES[dialect]}


def _parse_options(given: Iterable[str]) -> dict[str, str]:
    flags = {}
    for option in given:
        key, equals, value = option.partition("=")
        if not equals or key.count(".") != 1:
            raise ConfigError(f"invalid --option {option!r}: use SOURCE.NAME=VALUE")
        flags[f"source.{key}"] = value
    return flags


def _refuse_unknown(flags: dict[str, Any], settings: Iterable[Setting]) -> None:
    keys = {setting.key for setting in settings}
    for key in flags:
        if key not in keys:
            known = (key.partition(".")[2] for key in keys if key.startswith("source."))
            raise ConfigError(f"--option: unknown {key.partition('.')[2]}: use {_list(known)}")


def _describe(setting: Setting) -> str:
    """Return the help of a flag: a phrase in lower case, with the default."""
    phrase = setting.help.removesuffix(".")
    if phrase[1:2].islower():
        phrase = phrase[0].lower() + phrase[1:]
    return f"{phrase} (default: {_format_default(setting.default)})".replace("%", "%%")


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _format_default(value: Any) -> str:
    text = (
        ",".join(value)
        if isinstance(value, list)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
    return text or "empty"
