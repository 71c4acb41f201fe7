"""What is published works: promtool accepts it, and a real Prometheus on it has every target up."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from bench.programs import free_port, running

from tests.real.conftest import Start, get, need, output
from tests.real.waiting import until

VIGIE = [sys.executable, "-m", "vigie"]


class Cluster:
    """A server with its files and its agents."""

    def __init__(self, home: Path, stack: contextlib.ExitStack) -> None:
        self.home, self._stack = home, stack
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        command = [*VIGIE, "server", f"--listen=127.0.0.1:{port}", f"--data={home}/server"]
        stack.enter_context(running(command, port, "/healthz"))

    def agent(self, node: str, host: str) -> None:
        """Start an agent that listens there and is linked to the server."""
        port = free_port()
        flags = [f"--listen={host}:{port}", f"--node={node}", f"--server={self.address}", "--cadence=1"]
        token = (self.home / "server" / "join-token").read_text().strip()
        process = subprocess.Popen(
            [*VIGIE, "agent", *flags, f"--data={self.home}/{node}", "--sources=loadavg,meminfo"],
            env={**os.environ, "VIGIE_TOKEN": token},
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(process.wait, 20)
        self._stack.callback(process.terminate)
        until(lambda: node in self.names(), f"{node} has joined")

    def names(self) -> list[str]:
        return [node["name"] for node in json.loads(get(f"{self.address}/api/nodes"))["nodes"]]

    def add(self, target: str, job: str) -> None:
        """Register a foreign exporter."""
        token = (self.home / "server" / "server-token").read_text().strip()
        body = json.dumps({"labels": {"job": job, "instance": "n1"}, "targets": [target]}).encode()
        headers = {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"{self.address}/add_node", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200

    def publish(self, *flags: str) -> subprocess.CompletedProcess[str]:
        where = [str(self.home / "published"), f"--server={self.address}", f"--data={self.home}/server"]
        return output(*VIGIE, "publish", *where, *flags)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with contextlib.ExitStack() as stack:
        yield Cluster(tmp_path, stack)


def _ask(prometheus: str, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(get(f"{prometheus}/api/v1/query?query={quote(query)}"))["data"][
        "result"
    ]
    return found


def test_real_prometheus_on_what_is_published_has_every_target_up(
    cluster: Cluster, exporter: Start, tmp_path: Path
) -> None:
    cluster.agent("n1", "0.0.0.0")  # can be scraped, with its token
    cluster.agent("n2", "127.0.0.1")  # cannot: its samples come by the server
    cluster.add(exporter().removeprefix("http://"), "node-exporter")
    tokens = tmp_path / "tokens"
    tokens.mkdir()
    (tokens / "n1").write_bytes((tmp_path / "n1" / "scrape-token").read_bytes())
    (tokens / "n1").chmod(0o600)
    port = free_port()
    done = cluster.publish(
        f"--scrape-tokens={tokens}", "--interval=1", f"--prometheus=http://127.0.0.1:{port}"
    )
    assert (done.returncode, done.stderr) == (0, "")
    config = tmp_path / "published" / "prometheus" / "prometheus.yml"
    checked = output(need("promtool"), "check", "config", str(config))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    command = [need("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data"]
    prometheus = f"http://127.0.0.1:{port}"
    with running([*command, f"--web.listen-address=127.0.0.1:{port}"], port, "/"):
        wanted = {"vigie-agent-n1", "vigie-exporters", "vigie", "vigie-federation"}
        until(lambda: _health(prometheus) == {(pool, "up") for pool in wanted}, "all targets are up")
        both = until(lambda: _two(_ask(prometheus, 'node_load1{job="node"}')), "both nodes have samples")
        assert {series["metric"]["instance"] for series in both} == {"n1", "n2"}
        assert len(_ask(prometheus, 'node_load1{job="node-exporter", instance="n1"}')) == 1
        assert _ask(prometheus, 'up{job="node", instance="n2"}')[0]["value"][1] == "1"
        rules = json.loads(get(f"{prometheus}/api/v1/rules"))["data"]["groups"]
        health = {rule["health"] for group in rules for rule in group["rules"]}
        assert health <= {"ok", "unknown"}


def _health(prometheus: str) -> set[tuple[str, str]]:
    active = json.loads(get(f"{prometheus}/api/v1/targets?state=active"))["data"]["activeTargets"]
    return {(target["scrapePool"], target["health"]) for target in active}


def _two(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return found if len(found) == 2 else []


def test_watching_follows_the_server_and_touches_only_what_changes(cluster: Cluster, tmp_path: Path) -> None:
    assert cluster.publish().returncode == 0
    root = tmp_path / "published"
    home = root / "grafana" / "dashboards" / "cluster.json"
    before, secret = home.stat().st_mtime_ns, (root / "credentials" / "server").read_text()
    command = [*VIGIE, "publish", str(root), f"--server={cluster.address}", "--watch"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        cluster.add("127.0.0.1:1", "cadvisor")
        until(
            lambda: "cadvisor" in (root / "prometheus" / "targets.json").read_text(),
            "the new target is there",
        )
        assert "cadvisor" in (root / "prometheus" / "prometheus.yml").read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        said, trouble = process.communicate(timeout=60)
    assert (process.returncode, trouble) == (0, "")
    assert {line.rpartition("/")[2] for line in said.splitlines()} == {"targets.json", "prometheus.yml"}
    assert home.stat().st_mtime_ns == before
    assert (root / "credentials" / "server").read_text() == secret


def test_secrets_are_published_for_their_owner_alone_and_let_one_look(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.publish()
    folder = tmp_path / "published" / "credentials"
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "server": 0o600,
        "grafana-admin": 0o600,
    }
    token = (folder / "server").read_text().strip()
    get(f"{cluster.address}/api/v1/labels", Authorization=f"Bearer {token}")
    request = urllib.request.Request(
        f"{cluster.address}/remove_node", b'{"ip": "1.2.3.4"}', {"Authorization": f"Bearer {token}"}
    )
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=60)
    assert token not in "".join(
        path.read_text()
        for path in (tmp_path / "published").rglob("*")
        if path.is_file() and path.parent != folder
    )


def test_up_publishes_beside_the_server_in_one_process(tmp_path: Path) -> None:
    port = free_port()
    command = [
        *VIGIE,
        "up",
        f"--listen=127.0.0.1:{port}",
        f"--data={tmp_path}/data",
        f"--publish={tmp_path}/out",
    ]
    process = subprocess.Popen(
        [*command, "--anonymous-viewer"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        ini = tmp_path / "out" / "grafana" / "grafana.ini"
        until(lambda: (tmp_path / "out" / "credentials" / "grafana-admin").exists(), "it is published")
        assert "enabled = true" in ini.read_text()
        assert (tmp_path / "out" / "credentials" / "server").exists()
        checked = output(need("promtool"), "check", "config", str(tmp_path / "out/prometheus/prometheus.yml"))
        assert checked.returncode == 0, checked.stdout + checked.stderr
    finally:
        process.terminate()
        said = process.communicate(timeout=30)[1]
    assert process.returncode == 0, said
    assert "Traceback" not in said
