"""A real Prometheus and its promtool read what we say."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

from bench.programs import free_port, running

from tests.real.conftest import Start, get, need, output

# promtool's remarks that the conventional names themselves cause; nobody can rename these.
CONVENTIONAL = [
    r"node_\w+ non-counter metrics should not have \"_total\" suffix",
    r"node_\w+ counter metrics should have \"_total\" suffix",
    r"node_\w+ metric names should not contain abbreviated units",
    r"node_\w+ use base unit",
    r"node_\w+ metric name should not include type",
    r"node_\w+ metric names should be written in 'snake_case' not 'camelCase'",
    r"node_\w+ non-histogram and non-summary metrics should not have \"_count\" suffix",
    r"node_\w+ non-histogram and non-summary metrics should not have \"_sum\" suffix",
    r"container_memory_failcnt counter metrics should have \"_total\" suffix",  # cAdvisor's name
    r"genv_\w+_total non-counter metrics should not have \"_total\" suffix",  # genv's names
]


def test_promtool_reads_everything_and_remarks_only_on_conventional_names(agent: Start) -> None:
    said = get(f"{agent('--with-sources=interrupts')}/metrics?fresh")
    checked = output(need("promtool"), "check", "metrics", given=said)
    remarks = [line for line in checked.stderr.splitlines() + checked.stdout.splitlines() if line]
    assert checked.returncode in (0, 3), remarks  # 3: there are remarks; 1 would be a parse error
    assert [line for line in remarks if not any(re.match(each, line) for each in CONVENTIONAL)] == []
    assert [line for line in remarks if line.startswith("vigie_")] == []


@contextlib.contextmanager
def _prometheus(target: str, home: Path, *more: str) -> Iterator[int]:
    """Run a Prometheus that scrapes the target every second, and give its port."""
    config = home / "prometheus.yml"
    lines = ["global: {scrape_interval: 1s}", "scrape_configs:", "  - job_name: node", *more]
    config.write_text("\n".join([*lines, f'    static_configs: [{{targets: ["{target}"]}}]', ""]))
    port = free_port()
    command = [need("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={home}/data"]
    with running([*command, f"--web.listen-address=127.0.0.1:{port}"], port, "/"):
        yield port


def test_real_prometheus_scrapes_us_with_the_token_of_its_credentials_file(
    agent: Start, tmp_path: Path
) -> None:
    port = free_port()
    agent(f"--listen=0.0.0.0:{port}", f"--data={tmp_path}/agent", port=port)
    token = f"    authorization: {{credentials_file: {tmp_path}/agent/scrape-token}}"
    with _prometheus(f"127.0.0.1:{port}", tmp_path, token) as prometheus:
        assert _answer(prometheus, "up") == "1"


def test_real_prometheus_scrapes_us(agent: Start, tmp_path: Path) -> None:
    with _prometheus(agent().removeprefix("http://"), tmp_path) as port:
        assert _answer(port, "up") == "1"
        assert float(_answer(port, "count({job='node'})")) > 300
        assert _answer(port, "scrape_samples_scraped - scrape_samples_post_metric_relabeling") == "0"
        kinds = json.loads(get(f"http://127.0.0.1:{port}/api/v1/metadata?metric=node_load1"))["data"]
        assert kinds["node_load1"][0]["type"] == "gauge"


def _answer(port: int, query: str) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            answer = json.loads(
                get(f"http://127.0.0.1:{port}/api/v1/query?query={query.replace(' ', '%20')}")
            )
            if answer["data"]["result"]:
                value: str = answer["data"]["result"][0]["value"][1]
                return value
        time.sleep(0.1)
    raise AssertionError(f"no answer to {query}")
