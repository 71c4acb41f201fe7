"""Everything that is published, put together and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from vigie.common.token_file import token_of
from vigie.dashboards import all_dashboards
from vigie.publishing import prometheus_config
from vigie.publishing.compose import FOLDERS, compose
from vigie.publishing.managed_directory import File, Outcome, write
from vigie.publishing.options import SERVER, Entry, Options, Tokens, check
from vigie.views.grafana import provisioning
from vigie.views.grafana.dashboards import board_of

HOME = "cluster"  # the dashboard that a Grafana opens with


def publish(options: Options, tokens: Tokens, entries: Sequence[Entry], overwrite: bool = False) -> Outcome:
    """Write all files, or raise BadOption or OSError."""
    check(options)
    outcome = write(options.root, files(options, tokens, entries), overwrite)
    for folder in FOLDERS:
        (options.root / folder).mkdir(parents=True, exist_ok=True)
    # Grafana's own default would be admin, too. It is made once, and stays.
    token_of(options.root / "credentials" / "grafana-admin")
    return outcome


def files(options: Options, tokens: Tokens, entries: Sequence[Entry]) -> Iterator[File]:
    """Yield every file, by its path and with its text."""
    yield File("prometheus/prometheus.yml", prometheus_config.configuration(options, tokens, entries))
    yield File("prometheus/targets.json", prometheus_config.targets(entries))
    yield File("prometheus/rules/alerts.yml", prometheus_config.alerts())
    yield File("prometheus/rules/recordings.yml", prometheus_config.recordings())
    yield from _secrets(tokens)
    yield from _grafana(options, tokens)
    yield File("compose.yml", compose(options))


def _secrets(tokens: Tokens) -> Iterator[File]:
    named = {"server": tokens.server, "agents": tokens.agents}
    named |= {f"nodes/{name}": token for name, token in sorted(tokens.nodes.items())}
    for name, token in named.items():
        if token:
            yield File(f"credentials/{name}", f"{token}\n", private=True)


def _grafana(options: Options, tokens: Tokens) -> Iterator[File]:
    root, first = str(options.root), options.data_source == SERVER
    of_server, of_prometheus = provisioning.OF_SERVER, provisioning.OF_PROMETHEUS
    sources = (
        provisioning.Source(
            of_server,
            options.address,
            options.interval,
            f"{root}/credentials/server" if tokens.server else "",
            options.ca_file,
            first,
        ),
        provisioning.Source(of_prometheus, options.prometheus, options.interval, first=not first),
    )
    yield File(
        "grafana/grafana.ini",
        provisioning.settings(root, HOME, options.grafana_listen, options.anonymous_viewer),
    )
    yield File("grafana/provisioning/datasources/default.yml", provisioning.data_sources(*sources))
    yield File("grafana/provisioning/dashboards/default.yml", provisioning.providers(root))
    asks = of_server if first else of_prometheus
    for board in all_dashboards():
        made = board_of(board, asks, options.address)
        yield File(f"grafana/dashboards/{board.slug}.json", json.dumps(made, indent=1) + "\n")
