"""Finds the settings: those of this package, of the sinks and of the sources."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import Any

import vigie.cli.settings
from vigie.common.config import Setting, text
from vigie.sinks.core.registry import find_sinks
from vigie.sources.core.source import Source, SourceOption


def all_settings(sources: Iterable[Source] = ()) -> tuple[Setting, ...]:
    modules = [module.name for module in pkgutil.iter_modules(vigie.cli.settings.__path__)]
    tables = [
        getattr(importlib.import_module(f"vigie.cli.settings.{name}"), "SETTINGS", ()) for name in modules
    ]
    tables += [sink.settings for sink in find_sinks()]
    declared = [setting for table in tables for setting in table]
    return (*sorted(declared, key=lambda setting: setting.section), *_source_settings(sources))


def _source_settings(sources: Iterable[Source]) -> Iterable[Setting]:
    for source in sources:
        for option in source.options:
            section = f"source.{source.name}"
            yield Setting(section, option.name, option.default, option.help, _checker(option))


def _checker(option: SourceOption) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        option.check(text(value))
        return str(value)

    return check
