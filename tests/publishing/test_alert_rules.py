"""Alert and recording rules: few, in words, and over metrics that somebody declares."""

from __future__ import annotations

import re

import pytest

from tests.dashboards.declared import faults
from tests.findings.alert_examples import EXAMPLES
from vigie.publishing.alert_rules import ALERTS, RECORDINGS, AlertRule

MAX_ALERTS = 20  # nobody reads more
LABEL = re.compile(r"\{\{ \$labels\.(\w+) \}\}")
ALERT = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


def test_alerts_are_few_and_named_once() -> None:
    assert len({alert.name for alert in ALERTS}) == len(ALERTS) <= MAX_ALERTS
    assert len({rule.name for rule in RECORDINGS}) == len(RECORDINGS)


@ALERT
def test_alert_says_how_bad_it_is_what_it_is_and_what_to_do(alert: AlertRule) -> None:
    assert alert.severity in ("critical", "warning")
    assert re.fullmatch(r"\d+[smh]", alert.hold)
    assert alert.summary
    assert len(alert.action) > 20
    assert not re.search(r"(?<!\{)\{\w+\}", alert.summary + alert.action)


@pytest.mark.parametrize("rule", [*ALERTS, *RECORDINGS], ids=lambda rule: rule.name)
def test_rule_asks_only_for_what_is_declared(rule: AlertRule) -> None:
    assert faults(rule.promql) == []


def test_every_alert_has_an_example_that_fires_and_one_that_does_not() -> None:
    assert set(EXAMPLES) == {alert.name for alert in ALERTS}


@ALERT
def test_texts_name_only_labels_that_the_alert_has(alert: AlertRule) -> None:
    assert set(LABEL.findall(alert.summary + alert.action)) <= set(EXAMPLES[alert.name].labels)
