"""promtool fires each alert on its example, with its words, and leaves it quiet on what is near."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.findings.alert_examples import EXAMPLES, Example, Given
from tests.real.conftest import need, output
from vigie.common.yaml_writer import write_yaml
from vigie.publishing import prometheus_config
from vigie.publishing.alert_rules import ALERTS, AlertRule

PLACE = re.compile(r"\{\{ \$(?:labels\.(\w+)|value)(?: \| humanize\w+)? \}\}")


def test_each_alert_fires_on_its_example_and_is_quiet_on_what_is_near(tmp_path: Path) -> None:
    (tmp_path / "alerts.yml").write_text(prometheus_config.alerts())
    cases = [_case(alert, example) for alert in ALERTS for example in [EXAMPLES[alert.name]]]
    cases += [_quiet(alert, EXAMPLES[alert.name]) for alert in ALERTS]
    tests = {"rule_files": ["alerts.yml"], "evaluation_interval": "1m", "tests": cases}
    (tmp_path / "tests.yml").write_text(write_yaml(tests))
    done = output(need("promtool"), "test", "rules", str(tmp_path / "tests.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_finds_no_fault_in_the_rules(tmp_path: Path) -> None:
    for name, text in (
        ("alerts.yml", prometheus_config.alerts()),
        ("recordings.yml", prometheus_config.recordings()),
    ):
        (tmp_path / name).write_text(text)
        done = output(need("promtool"), "check", "rules", "--lint=all", "--lint-fatal", str(tmp_path / name))
        assert done.returncode == 0, done.stdout + done.stderr


def _case(alert: AlertRule, example: Example) -> dict[str, Any]:
    words = {"summary": _said(alert.summary, example), "description": _said(alert.action, example)}
    fired = {"exp_labels": {**example.labels, "severity": alert.severity}, "exp_annotations": words}
    return _test(alert, example.fires, example.at, [fired])


def _quiet(alert: AlertRule, example: Example) -> dict[str, Any]:
    return _test(alert, example.quiet, example.at, [])


def _test(alert: AlertRule, given: Given, at: str, fired: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": alert.name,
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in given.items()],
        "alert_rule_test": [{"eval_time": at, "alertname": alert.name, "exp_alerts": fired}],
    }


def _said(text: str, example: Example) -> str:
    return PLACE.sub(lambda found: example.labels[found[1]] if found[1] else example.value, text)
