"""A real Prometheus scrapes and remote-writes to a server, which passes it on to another Prometheus."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from bench.programs import free_port, running, wait_for
from bench.store.remote_write import raw
from bench.store.targets import exporting, prometheus

from tests.real.conftest import get, need
from tests.real.waiting import until

TARGETS = 5
SCRAPES = 8


def receiver(home: Path, port: int) -> list[str]:
    """Return the command of a Prometheus that scrapes nothing and takes remote write."""
    (home / "receiver.yml").write_text("")
    return [
        need("prometheus"),
        f"--config.file={home}/receiver.yml",
        f"--storage.tsdb.path={home}/received",
        "--web.enable-remote-write-receiver",
        f"--web.listen-address=127.0.0.1:{port}",
    ]


def test_what_a_prometheus_scrapes_arrives_equal_here_and_at_the_one_it_is_passed_on_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIGIE_REMOTE_WRITE_BATCH_SECONDS", "0.2")
    need("prometheus")
    ours, first, second = free_port(), free_port(), free_port()
    server = [
        *(sys.executable, "-m", "vigie", "server", f"--data={tmp_path}/vigie", f"--listen=127.0.0.1:{ours}"),
        f"--remote-write=http://127.0.0.1:{second}/api/v1/write",
    ]
    write, token = f"http://127.0.0.1:{ours}/api/v1/write", tmp_path / "vigie" / "server-token"
    with (
        exporting(TARGETS) as exporters,
        running(server, ours, "/"),
        running(receiver(tmp_path, second), second, "/"),
        running(prometheus(tmp_path, first, exporters, write, token), first, "/"),
    ):
        for port in (ours, first, second):
            wait_for(port, "/-/ready", 60)
        instances = exporters[1]

        def scraped(instance: str) -> bool:
            found = raw(first, instance, time.time())
            return len(found) > 304 and min(map(len, found.values())) >= SCRAPES

        until(lambda: all(map(scraped, instances)), "Prometheus does not scrape")
        end = time.time() - 1
        for instance in instances:
            scrapes = raw(first, instance, end)
            for port, who in ((ours, "the server"), (second, "the other Prometheus")):
                until(
                    lambda port=port, scrapes=scrapes, instance=instance: raw(port, instance, end) == scrapes,  # type: ignore[misc]
                    f"{who} has not the same of {instance}",
                )
        said = get(f"http://127.0.0.1:{ours}/metrics")
        assert "vigie_remote_write_samples_sent_total" in said
        assert "vigie_remote_write_samples_dropped_total" not in said


def test_what_a_prometheus_tells_of_its_metrics_is_known_here(tmp_path: Path) -> None:
    ours, theirs = free_port(), free_port()
    (tmp_path / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: itself
    static_configs: [{{targets: ["127.0.0.1:{theirs}"]}}]
remote_write:
  - url: http://127.0.0.1:{ours}/api/v1/write
    authorization: {{credentials_file: {tmp_path}/vigie/server-token}}
    metadata_config: {{send_interval: 1s}}
""")
    flags = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
    command = [need("prometheus"), *flags, f"--web.listen-address=127.0.0.1:{theirs}"]
    server = [
        sys.executable,
        "-m",
        "vigie",
        "server",
        f"--data={tmp_path}/vigie",
        f"--listen=127.0.0.1:{ours}",
    ]

    def known(port: int) -> list[dict[str, str]]:
        said = json.loads(get(f"http://127.0.0.1:{port}/api/v1/metadata?metric=go_goroutines"))
        return list(said["data"].get("go_goroutines", []))

    with running(server, ours, "/"), running(command, theirs, "/"):
        until(lambda: bool(known(ours)), "nothing is known of the metric")
        assert known(ours) == known(theirs)
        assert known(ours)[0]["type"] == "gauge"
