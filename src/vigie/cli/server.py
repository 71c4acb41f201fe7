"""Keep what is measured in an embedded store, and answer Prometheus's API over it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys

from vigie import config
from vigie.cli import _settings
from vigie.config import ConfigError
from vigie.connection import Secret, Target
from vigie.query.budget import Limits
from vigie.query.remote import RemoteEngine
from vigie.redaction import redacted
from vigie.server import run as server
from vigie.server.forward import WriteOn
from vigie.store.errors import StoreError
from vigie.store.retention import Retention

EXAMPLE = """examples:
  vigie server                                          http://127.0.0.1:8000, for Grafana and curl
  vigie server --listen 0.0.0.0:8000                    for others too, with the token
  vigie server --data /srv/vigie --raw-days 30          elsewhere, and for longer
  vigie server --store http://127.0.0.1:9090            read from a Prometheus instead"""
ERRORS = (*_settings.ERRORS, server.CannotStart, StoreError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    _settings.add_flags(parser, config.SERVER)


def run(arguments: argparse.Namespace) -> int:
    """Run until it is stopped."""
    settings = _settings.effective(arguments, config.SERVER)
    values = settings.section("server")
    level = values["log_level"].upper()
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel("WARNING")
    asyncio.run(server.run(_plan(settings)))
    return 0


def _plan(settings: _settings.Settings) -> server.Plan:
    values = settings.section("server")
    limits = Limits(int(values["query_samples"]), int(values["query_points"]), values["query_timeout"])
    retention = Retention(int(values["raw_days"] * 86_400_000), int(values["store_gigabytes"] * 1e9) or None)
    flags = {name.replace("_", "-"): redacted(str(value)) for name, value in values.items()}
    data = _settings.data_directory(settings, "server")
    plan = server.Plan(values["listen"], data, limits, retention, flags)
    if values["store_write"] and not values["store"]:
        raise ConfigError("server.store_write needs server.store, the address to read from")
    if values["store"]:
        reading = RemoteEngine(_peer(values["store"]), values["query_timeout"])
        writing = WriteOn(_peer(values["store_write"])) if values["store_write"] else None
        plan = plan._replace(reading=reading, writing=writing)
    return plan


def _peer(url: str) -> Target:
    return Target(url, token=Secret(variable="VIGIE_STORE_TOKEN"))
