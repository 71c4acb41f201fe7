"""What the settings of the server become."""

from __future__ import annotations

from pathlib import Path

from vigie.cli import parser_of
from vigie.cli.server import prepare
from vigie.cli.settings import flags

DAY = 86_400_000


def test_retention_reaches_store_rollups_events_and_bindings(tmp_path: Path) -> None:
    given = ["--raw-days=1", "--rollup-5m-days=2", "--rollup-1h-days=3", "--store-gigabytes=4"]
    given += ["--events-days=5", "--bindings-days=6", f"--data={tmp_path}"]
    retention = prepare(flags.resolve(parser_of("server").parse_args(given))).retention
    assert (retention.raw.age_ms, retention.raw.max_bytes) == (DAY, 4_000_000_000)
    ages = {tier.name: tier.retention.age_ms for tier in retention.rollups}
    assert ages == {"5m": 2 * DAY, "1h": 3 * DAY}
    assert (retention.events_days, retention.bindings_days) == (5, 6)


def test_defaults_are_those_of_the_store(tmp_path: Path) -> None:
    config = prepare(flags.resolve(parser_of("server").parse_args([f"--data={tmp_path}"])))
    assert config.retention == type(config.retention)()
