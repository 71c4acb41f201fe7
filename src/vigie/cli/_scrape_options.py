"""What the settings say about scraping."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vigie.common.config import ConfigError
from vigie.common.endpoint import Secret, TlsOptions
from vigie.server.scrape.config import ScrapeConfig, ScrapeCredentials, networks
from vigie.server.scrape.networks import parse_networks

MAX_SECONDS = 10.0


def rules(values: dict[str, Any]) -> ScrapeConfig:
    """Return how the server scrapes, or raise ConfigError that says which settings do not fit."""
    if values["timeout"] > values["interval"]:
        raise ConfigError("scrape.timeout should not be longer than scrape.interval")
    try:
        allowed = parse_networks(values["networks"])
    except ValueError as error:
        raise ConfigError(f"scrape.networks: {error}") from None
    return ScrapeConfig(
        interval=values["interval"],
        timeout=values["timeout"] or min(MAX_SECONDS, values["interval"]),
        most_samples=int(values["sample_limit"]),
        most_bytes=int(values["body_megabytes"] * (1 << 20)),
        honor_labels=values["honor_labels"],
        honor_times=values["honor_timestamps"],
        credentials=_credentials(values),
        tls=TlsOptions(
            values["ca_file"],
            values["cert_file"],
            values["key_file"],
            values["server_name"],
            values["insecure"],
        ),
        networks=allowed,
    )


def file_sd(values: dict[str, Any]) -> Path | None:
    """Return the file for a Prometheus, or nothing for the usual one."""
    return Path(values["file_sd"]) if values["file_sd"] else None


def _credentials(values: dict[str, Any]) -> ScrapeCredentials:
    password = Secret(values["password_file"], "VIGIE_SCRAPE_PASSWORD")
    token = Secret(values["token_file"], "VIGIE_SCRAPE_TOKEN")
    given = values["user"] or token.file or os.environ.get(token.variable)
    hosts = networks(values["secrets_for"])
    if given and not hosts:
        raise ConfigError(
            "scrape.secrets_for should say which hosts are shown the credentials, such as 10.0.0.0/8"
        )
    return ScrapeCredentials(values["user"], password, token, hosts)
