"""Everything that is published, put together and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from vigie.common.token_file import read_token
from vigie.dashboards import all_dashboards
from vigie.publishing import prometheus_config
from vigie.publishing.compose import FOLDERS, compose
from vigie.publishing.managed_directory import ManagedFile, WriteOutcome, write_files
from vigie.publishing.options import SERVER, PublishOptions, PublishTokens, ScrapeEntry, check_options
from vigie.views.grafana import provisioning
from vigie.views.grafana.dashboards import build_dashboard


def publish(
    options: PublishOptions, tokens: PublishTokens, entries: Sequence[ScrapeEntry], overwrite: bool = False
) -> WriteOutcome:
    """Write all files, or raise BadOption or OSError."""
    check_options(options)
    outcome = write_files(options.root, files(options, tokens, entries), overwrite)
    for folder in FOLDERS:
        (options.root / folder).mkdir(parents=True, exist_ok=True)
    # Grafana's own default would be admin, too. It is made once, and stays.
    read_token(options.root / "credentials" / "grafana-admin")
    return outcome


def files(
    options: PublishOptions, tokens: PublishTokens, entries: Sequence[ScrapeEntry]
) -> Iterator[ManagedFile]:
    """Yield every file, by its path and with its text."""
    yield ManagedFile("prometheus/prometheus.yml", prometheus_config.configuration(options, tokens, entries))
    yield ManagedFile("prometheus/targets.json", prometheus_config.targets(entries))
    yield ManagedFile("prometheus/rules/alerts.yml", prometheus_config.alerts())
    yield ManagedFile("prometheus/rules/recordings.yml", prometheus_config.recordings())
    yield from _secrets(tokens)
    yield from _grafana(options, tokens)
    yield ManagedFile("compose.yml", compose(options))


def _secrets(tokens: PublishTokens) -> Iterator[ManagedFile]:
    named = {"server": tokens.server, "agents": tokens.agents}
    named |= {f"nodes/{name}": token for name, token in sorted(tokens.nodes.items())}
    for name, token in named.items():
        if token:
            yield ManagedFile(f"credentials/{name}", f"{token}\n", private=True)


def _grafana(options: PublishOptions, tokens: PublishTokens) -> Iterator[ManagedFile]:
    root, first = str(options.root), options.data_source == SERVER
    of_server, of_prometheus = provisioning.OF_SERVER, provisioning.OF_PROMETHEUS
    sources = (
        provisioning.DataSource(
            of_server,
            options.address,
            options.interval,
            f"{root}/credentials/server" if tokens.server else "",
            options.ca_file,
            first,
        ),
        provisioning.DataSource(of_prometheus, options.prometheus, options.interval, first=not first),
    )
    yield ManagedFile(
        "grafana/grafana.ini",
        provisioning.settings(root, options.home, options.grafana_listen, options.anonymous_viewer),
    )
    yield ManagedFile("grafana/provisioning/datasources/default.yml", provisioning.data_sources(*sources))
    yield ManagedFile("grafana/provisioning/dashboards/default.yml", provisioning.providers(root))
    asks = of_server if first else of_prometheus
    for board in all_dashboards():
        made = build_dashboard(board, asks, options.address)
        yield ManagedFile(f"grafana/dashboards/{board.slug}.json", json.dumps(made, indent=1) + "\n")
