"""Store metrics, serve web UI and Prometheus API."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from vigie.cli import _auth_options, _scrape_options
from vigie.cli.settings import flags
from vigie.common import logs
from vigie.common.config import ConfigError
from vigie.common.endpoint import Endpoint, Secret
from vigie.common.listen import ListenError
from vigie.common.redaction import redact_url
from vigie.query.limits import QueryLimits
from vigie.query.remote_engine import RemoteEngine
from vigie.server import run as server
from vigie.server.api.prometheus.remote_backend import WriteForwarder
from vigie.server.auth.secrets_file import SecretsError
from vigie.server.maintenance import RetentionConfig
from vigie.server.services import ServerConfig
from vigie.sinks.remote_write import open_sender, read_endpoint
from vigie.store.errors import StoreError
from vigie.store.retention import Retention
from vigie.store.rollups.rollups import TIERS

EXAMPLE = """examples:
  vigie server                                          http://127.0.0.1:8000, for Grafana and curl
  vigie server --listen 0.0.0.0:8000                    for others too, with the token
  vigie server --data /srv/vigie --raw-days 30          elsewhere, and for longer
  vigie server --store http://127.0.0.1:9090            read from a Prometheus instead
  vigie server --remote-write http://peer/api/v1/write  pass on what comes by remote write"""
ERRORS = (*flags.ERRORS, ListenError, StoreError, SecretsError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    flags.add_flags(parser, "server")


def run(arguments: argparse.Namespace) -> int:
    serve(prepare(flags.resolve(arguments)))
    return 0


def serve(
    plan: ServerConfig,
    beside: server.Companion | None = None,
    last: Callable[[], object] = lambda: None,
) -> None:
    """Run until it is stopped, and end the process then, as everything is stored and closed.

    A thread may still look up a name or wait for a peer; a stop does not wait for that, but for `last`.
    """
    with asyncio.Runner() as runner:
        runner.run(server.run(plan, beside))
        last()
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def prepare(settings: flags.Settings) -> ServerConfig:
    """Return what to run, and log as the settings say."""
    values = settings.section("server")
    logs.configure(values["log_level"], values["log_format"])
    logging.getLogger("uvicorn").setLevel("WARNING")
    logging.getLogger("uvicorn.error").addFilter(logs.RepeatFilter())
    # It says so of connections that were refused with an answer or cut off by a stop, which is no error.
    logging.getLogger("uvicorn.error").addFilter(lambda said: "without completing" not in said.getMessage())
    return _build_config(settings)


def _build_config(settings: flags.Settings) -> ServerConfig:
    values = settings.section("server")
    limits = QueryLimits(int(values["query_samples"]), int(values["query_points"]), values["query_timeout"])
    shown = {**values, **settings.section("retention")}
    flag_values = {name.replace("_", "-"): redact_url(str(value)) for name, value in shown.items()}
    data = flags.data_directory(settings, "server")
    plan = ServerConfig(
        values["listen"],
        data,
        limits,
        _read_retention(settings.section("retention")),
        flag_values,
        auth=_auth_options.read_policy(values),
        privacy=_auth_options.privacy(values, data),
        tls=_auth_options.tls(values),
        access_log=values["access_log"],
        admin_password=_auth_options.admin_password(values),
        scrape=_scrape_options.rules(settings.section("scrape")),
        file_sd=_scrape_options.file_sd(settings.section("scrape")),
        cluster_reporters=tuple(values["cluster_reporters"]),
        itself=socket.gethostname(),
    )
    if settings.effective["remote_write.url"]:
        read_endpoint(settings.effective).check()
        sender = partial(open_sender, settings.effective, data / "server-remote-write")
        plan = plan._replace(remote_write=sender)
    if values["store_write"] and not values["store"]:
        raise ConfigError("server.store_write requires server.store")
    if values["store"]:
        reading = RemoteEngine(_peer(values["store"]), values["query_timeout"])
        writing = WriteForwarder(_peer(values["store_write"])) if values["store_write"] else None
        plan = plan._replace(reading=reading, writing=writing)
    return plan


def _read_retention(values: Mapping[str, Any]) -> RetentionConfig:
    raw = Retention(_milliseconds(values["raw_days"]), int(values["store_gigabytes"] * 1e9) or None)
    tiers = {"5m": values["rollup_5m_days"], "1h": values["rollup_1h_days"]}
    rollups = tuple(tier._replace(retention=Retention(_milliseconds(tiers[tier.name]))) for tier in TIERS)
    return RetentionConfig(
        raw,
        rollups,
        values["events_days"],
        values["bindings_days"],
        values["traces_days"],
        values["traces_gigabytes"],
    )


def _milliseconds(days: float) -> int:
    return int(days * 86_400_000)


def _peer(url: str) -> Endpoint:
    return Endpoint(url, token=Secret(variable="VIGIE_STORE_TOKEN"))
