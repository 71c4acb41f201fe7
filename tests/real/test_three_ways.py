"""One agent, three ways: linked, scraped by a real Prometheus that the server sends to it, remote-written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from bench.programs import free_port, running

from tests.real.conftest import Start, get, need, output
from tests.real.test_scrape import prometheus
from tests.real.waiting import until

# Of the ways, not of the agent: what a scrape says of itself, what the server measures, and who is up.
ABOUT_THE_WAY = ("scrape_", "vigie_node_clock_offset_seconds", "up")
Series = frozenset[tuple[str, str]]


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{port}"]
    with running([*command, f"--data={tmp_path / 'server'}"], port, "/"):
        yield f"http://127.0.0.1:{port}"


def agent_of(server: str, home: Path, *flags: str) -> list[str]:
    token = home / "server" / "join-token"
    command = [sys.executable, "-m", "vigie", "agent", f"--server={server}", f"--token-file={token}"]
    return [*command, "--node=n1", "--cadence=1", f"--data={home / 'agent'}", *flags]


def series(url: str, selector: str) -> set[Series]:
    """Return the label sets that are there now."""
    answer = json.loads(get(f"{url}/api/v1/query?query={quote(selector)}"))
    return {frozenset(row["metric"].items()) for row in answer["data"]["result"]}


def of_the_agent(url: str) -> set[Series]:
    found = series(url, '{job="node",instance="n1"}')
    return {labels for labels in found if not dict(labels)["__name__"].startswith(ABOUT_THE_WAY)}


def test_label_sets_of_an_agent_are_the_same_on_every_way(server: str, tmp_path: Path) -> None:
    receiver, listen = free_port(), free_port()
    (tmp_path / "empty.yml").write_text("")
    receiving = [
        need("prometheus"),
        f"--config.file={tmp_path}/empty.yml",
        f"--storage.tsdb.path={tmp_path}/received",
        "--web.enable-remote-write-receiver",
        f"--web.listen-address=127.0.0.1:{receiver}",
    ]
    written = f"http://127.0.0.1:{receiver}"
    flags = (f"--listen=0.0.0.0:{listen}", f"--remote-write={written}/api/v1/write")
    token = f"authorization: {{credentials_file: {tmp_path}/agent/scrape-token}}"
    discovery = f"http_sd_configs: [{{url: {server}/sd/prometheus, refresh_interval: 1s}}]\n    {token}"
    with (
        running(receiving, receiver, "/"),
        running(agent_of(server, tmp_path, *flags), listen, "/"),
        prometheus(discovery, tmp_path) as scraping,
    ):
        scraped = f"http://127.0.0.1:{scraping}"
        until(lambda: series(scraped, 'up{job="node",instance="n1"} == 1'), "the agent is scraped")
        until(lambda: len(of_the_agent(server)) > 50, "the agent is linked")
        until(
            lambda: of_the_agent(server) == of_the_agent(scraped) == of_the_agent(written),
            "the label sets are the same",
        )
        assert series(server, 'up{instance="n1"}') == series(scraped, 'up{instance="n1"}')
        (entry,) = json.loads(get(f"{server}/sd/prometheus"))
        assert entry == {"targets": [f"127.0.0.1:{listen}"], "labels": {"instance": "n1", "job": "node"}}
        listed = tmp_path / "server" / "targets.yaml"
        until(lambda: f"127.0.0.1:{listen}" in listed.read_text(), "the agent is in the file, too")
        checked = (tmp_path / "file_sd.yml").write_text(
            f"scrape_configs: [{{job_name: a, file_sd_configs: [{{files: [{listed}]}}]}}]\n"
        )
        assert checked
        said = output(need("promtool"), "check", "config", f"{tmp_path}/file_sd.yml")
        assert said.returncode == 0, said.stdout + said.stderr


def test_agent_without_an_open_port_is_listed_nowhere_and_the_node_says_why(
    server: str, tmp_path: Path
) -> None:
    listen = free_port()
    with running(agent_of(server, tmp_path, f"--listen=127.0.0.1:{listen}"), listen, "/"):
        nodes = until(lambda: json.loads(get(f"{server}/api/nodes"))["nodes"], "the node is there")
        assert "--listen" in nodes[0]["scrape_trouble"]
        assert json.loads(get(f"{server}/sd/prometheus")) == []


def test_real_node_exporter_is_found_by_the_agent_and_relayed_under_its_own_job(
    server: str, exporter: Start, tmp_path: Path
) -> None:
    url = exporter("--collector.disable-defaults", "--collector.uname", "--collector.loadavg")
    port, listen = int(url.rpartition(":")[2]), free_port()
    config = tmp_path / "agent.toml"
    config.write_text(f'[exporters]\nlook_for = ["node-exporter={port}"]\n')
    flags = (f"--config={config}", "--sources=loadavg", f"--listen=127.0.0.1:{listen}")
    ours = '{job="node-exporter",instance="n1"}'
    with running(agent_of(server, tmp_path, *flags), listen, "/"):
        until(lambda: series(server, f"up{ours} == 1"), "the exporter is relayed")
        found = {dict(labels)["__name__"] for labels in series(server, ours)}
        said = {
            line.split("{")[0].split(" ")[0] for line in get(f"{url}/metrics").splitlines() if line[0] != "#"
        }
        assert said <= found
        assert found - said == {"up", "scrape_duration_seconds", "scrape_samples_scraped"}
        assert series(server, 'node_load1{job="node"}')  # the agent's own, beside it
        config.write_text("[exporters]\nrelay = false\n")
    until(lambda: not series(server, f"node_load1{ours}"), "its series end with the agent")
    with running(agent_of(server, tmp_path, *flags), listen, "/"):
        until(lambda: series(server, 'up{job="node",instance="n1"} == 1'), "the agent is back")
        assert not series(server, f"up{ours} == 1")


def test_nodes_add_prints_a_line_by_which_the_node_comes(server: str, tmp_path: Path) -> None:
    vigie = (sys.executable, "-m", "vigie")
    where = (f"--server={server}", f"--data={tmp_path / 'server'}")
    added = output(*vigie, "nodes", "add", "n9", *where)
    assert added.returncode == 0, added.stderr
    key, *command = added.stdout.split()
    assert command == ["vigie", "agent", "--server", server, "--node", "n9"]
    listed = output(*vigie, "nodes", *where).stdout
    assert [line.split()[:3] for line in listed.splitlines()[1:]] == [["n9", "added", "never"]]
    listen = free_port()
    line = ["env", key, *vigie, *command[1:], f"--data={tmp_path / 'n9'}", f"--listen=127.0.0.1:{listen}"]
    with running([*line, "--sources=loadavg"], listen, "/"):
        until(lambda: _state(server, "n9") == "up", "the node is up")
    until(lambda: _state(server, "n9") == "stopped", "the node has said goodbye")
    removed = subprocess.run([*vigie, "nodes", "remove", "n9", *where], timeout=60, check=False)
    assert removed.returncode == 0
    assert _state(server, "n9") == "removed"


def _state(server: str, node: str) -> str:
    return str(json.loads(get(f"{server}/api/nodes/{node}"))["state"])
