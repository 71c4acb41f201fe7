"""The files that set a Grafana up: its settings, its data sources, and where its dashboards are."""

from __future__ import annotations

from typing import Any, NamedTuple

from vigie.common.yaml_writer import write_yaml
from vigie.views.grafana.dashboards import TAG, DefaultDashboard

NOTE = "Written by vigie publish, which leaves alone what was changed by others."
OF_SERVER, OF_PROMETHEUS = (
    DefaultDashboard("vigie", "vigie"),
    DefaultDashboard("Prometheus", "vigie-prometheus"),
)


class DataSource(NamedTuple):
    """Where a data source is, what it is shown, and how often its samples come."""

    named: DefaultDashboard
    url: str
    interval: float
    token_file: str = ""  # of a bearer token
    ca_file: str = ""
    first: bool = False


def settings(root: str, home: str, listen: str, anonymous: bool) -> str:
    """Return grafana.ini; `root` is the absolute path of what is published, without a special character."""
    host, _, port = listen.rpartition(":")
    return f"""# {NOTE}
[paths]
data = {root}/grafana/data
logs = {root}/grafana/data/log
plugins = {root}/grafana/data/plugins
provisioning = {root}/grafana/provisioning

[server]
http_addr = {host.strip("[]")}
http_port = {port}

[security]
admin_user = admin
admin_password = $__file{{{root}/credentials/grafana-admin}}

[users]
allow_sign_up = false

[auth.anonymous]
enabled = {str(anonymous).lower()}
org_name = Main Org.
org_role = Viewer

[dashboards]
default_home_dashboard_path = {root}/grafana/dashboards/{home}.json

[analytics]
reporting_enabled = false
check_for_updates = false
check_for_plugin_updates = false

[news]
news_feed_enabled = false
"""


def data_sources(*sources: DataSource) -> str:
    return write_yaml({"apiVersion": 1, "datasources": [_source(source) for source in sources]}, NOTE)


def _source(source: DataSource) -> dict[str, Any]:
    how: dict[str, Any] = {
        "httpMethod": "POST",
        "timeInterval": f"{source.interval:g}s",
        "prometheusType": "Prometheus",
    }
    hidden = {}
    if source.token_file:
        how["httpHeaderName1"] = "Authorization"
        hidden["httpHeaderValue1"] = f"Bearer $__file{{{source.token_file}}}"
    if source.ca_file:
        how["tlsAuthWithCACert"] = True
        hidden["tlsCACert"] = f"$__file{{{source.ca_file}}}"
    said = {
        "name": source.named.name,
        "uid": source.named.uid,
        "type": "prometheus",
        "access": "proxy",
        "url": source.url,
        "isDefault": source.first,
        "editable": False,
        "jsonData": how,
    }
    return said | ({"secureJsonData": hidden} if hidden else {})


def providers(root: str) -> str:
    """Return the file that says where the dashboards are."""
    provider = {
        "name": TAG,
        "folder": TAG,
        "type": "file",
        "updateIntervalSeconds": 10,
        "allowUiUpdates": False,
        "disableDeletion": False,
        "options": {"path": f"{root}/grafana/dashboards"},
    }
    return write_yaml({"apiVersion": 1, "providers": [provider]}, NOTE)
