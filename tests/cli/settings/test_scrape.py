"""What [scrape] may say."""

from __future__ import annotations

from typing import Any

import pytest

from vigie.cli import _scrape_options
from vigie.cli.settings.scrape import SETTINGS
from vigie.common import config
from vigie.common.config import ConfigError
from vigie.server.scrape.config import ScrapeConfig


def values(**given: Any) -> dict[str, Any]:
    file = ({f"scrape.{name}": value for name, value in given.items()}, "vigie.toml")
    found = config.resolve(SETTINGS, flags={}, environ={}, file=file)
    return {key.removeprefix("scrape."): value.value for key, value in found.items()}


def test_defaults_are_those_of_the_rules() -> None:
    rules = _scrape_options.rules(values())
    assert rules._replace(credentials=ScrapeConfig().credentials) == ScrapeConfig()
    assert not rules.credentials.are_for("127.0.0.1")
    assert _scrape_options.file_sd(values()) is None


def test_settings_reach_the_rules() -> None:
    rules = _scrape_options.rules(
        values(
            interval=30,
            sample_limit=5,
            body_megabytes=1,
            honor_labels=True,
            user="me",
            secrets_for=["10.0.0.0/8"],
        )
    )
    assert (rules.timeout, _scrape_options.rules(values(interval=3)).timeout) == (10, 3)
    assert (rules.interval, rules.most_samples, rules.most_bytes, rules.honor_labels) == (
        30,
        5,
        1 << 20,
        True,
    )
    assert rules.credentials.are_for("10.1.2.3")
    assert not rules.credentials.are_for("11.1.2.3")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"interval": 5, "timeout": 6}, "scrape.timeout should not be longer"),
        ({"token_file": "/x"}, "scrape.secrets_for"),
        ({"user": "me"}, "scrape.secrets_for"),
        ({"networks": ["10.0.0.0/99"]}, "scrape.networks"),
        ({"interval": 0}, "between 1 and 3600"),
        ({"honor_labels": "maybe"}, "true or false"),
    ],
)
def test_settings_that_do_not_fit_are_named(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        _scrape_options.rules(values(**given))
