from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from vigie.publishing.genv_bundle import publish_genv
from vigie.publishing.options import InvalidOptionError


def test_five_files_stand_at_genvs_paths_with_the_overview_as_home(tmp_path: Path) -> None:
    outcome = publish_genv(tmp_path, 8123)

    assert set(outcome.written) == {
        "prometheus/prometheus.yml",
        "grafana/grafana.ini",
        "grafana/provisioning/datasources/default.yml",
        "grafana/provisioning/dashboards/default.yml",
        "grafana/dashboards/overview.json",
    }
    assert "localhost:8123" in (tmp_path / "prometheus/prometheus.yml").read_text()
    settings = (tmp_path / "grafana/grafana.ini").read_text()
    assert "org_name = Main Org." in settings
    assert f"default_home_dashboard_path = {tmp_path}/grafana/dashboards/overview.json" in settings
    assert f"provisioning = {tmp_path}/grafana/provisioning" in settings


def test_overview_has_genvs_eleven_panels_over_its_metrics_alone(tmp_path: Path) -> None:
    publish_genv(tmp_path, 8000)
    board = json.loads((tmp_path / "grafana/dashboards/overview.json").read_text())
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]

    assert len(panels) == 11
    assert all("genv_" in target["expr"] for panel in panels for target in panel["targets"])


def test_password_of_grafana_is_for_its_owner_only_and_stays(tmp_path: Path) -> None:
    publish_genv(tmp_path, 8000)
    password = tmp_path / "credentials" / "grafana-admin"
    before = password.read_text()
    publish_genv(tmp_path, 8001)

    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    assert password.read_text() == before


def test_directory_whose_name_grafana_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="its name holds"):
        publish_genv(tmp_path / "a;b", 8000)
