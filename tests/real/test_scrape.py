"""Beside a real node exporter, a real Prometheus and its promtool: the same targets, labels and values."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from bench.programs import free_port, running

from tests.expositions import parse
from tests.real.conftest import Start, get, need, output
from tests.server.scrape.exporter import exporting, said
from tests.server.scrape.test_scraper import RULES, scraping, wait
from vigie.common.endpoint import TlsOptions
from vigie.server.api.prometheus.queries import now_ms

SOON = 5.0  # seconds within which an added exporter is scraped
LABELS = {"host_cpu": "n1", "hostname": "n1", "job": "node-exporter", "node_type": "cpu"}
ODD = """\
# HELP odd Every spelling that two readers could take differently.
# TYPE odd gauge
odd{a="x y",b="# 5"} 1
odd{ a = "spaces" , } 2
odd{a="C:\\\\dir\\n\\"q\\" \\t"}\t3
odd{a="日本",b=""} 4
odd{job="own",instance="own"} 5
odd{a="inf"} +Inf
odd{a="nan"} NaN
odd{a="small"} 4.9e-324
odd{a="exact"} 0.1
odd{} 6
odd{a="twice"} 7
odd{a="twice"} 8
# TYPE took histogram
took_bucket{le="0.1"} 3
took_bucket{le="+Inf"} 7
took_sum 4.5
took_count 7
# TYPE rpc summary
rpc{quantile="0.99"} 4.7e-05
rpc_sum 17
rpc_count 2
"""
OPENMETRICS = """\
# TYPE done counter
done_total{a="b"} 5 # {trace_id="x # y"} 0.67
done_created{a="b"} 1.5
# TYPE build info
build_info{version="1"} 1
# EOF
"""


class Running:
    """A server of ours, and what its admin may do."""

    def __init__(self, port: int, data: Path) -> None:
        self.port, self.data = port, data
        self.url = f"http://127.0.0.1:{port}"

    def send(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        token = (self.data / "server-token").read_text().strip()
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(client):
            client.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {token}"})
            answer = client.getresponse()
            return answer.status, json.loads(answer.read())

    def add(self, address: str, **labels: str) -> None:
        assert self.send("/add_node", {"labels": {**LABELS, **labels}, "targets": [address]})[0] == 200


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Iterator[Running]:
    port, data = free_port(), tmp_path / "server"
    command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{port}", f"--data={data}"]
    with running(command, port, "/"):
        yield Running(port, data)


def found(port: int, query: str) -> dict[frozenset[tuple[str, str]], float]:
    """Return the answer to an instant query by label set."""
    answer = json.loads(get(f"http://127.0.0.1:{port}/api/v1/query?query={quote(query)}"))
    result = answer["data"]["result"]
    return {frozenset(row["metric"].items()): float(row["value"][1]) for row in result}


def until(condition: Callable[[], bool], patience: float = 60) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@contextlib.contextmanager
def prometheus(discovery: str, home: Path) -> Iterator[int]:
    """Run a Prometheus that is told its targets, and give its port."""
    config = home / "prometheus.yml"
    lines = ["global: {scrape_interval: 1s}", "scrape_configs:", "  - job_name: vigie", f"    {discovery}"]
    config.write_text("\n".join(lines) + "\n")
    port = free_port()
    command = [need("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={home}/data"]
    with running([*command, f"--web.listen-address=127.0.0.1:{port}"], port, "/"):
        until(lambda: _is_ready(port))
        yield port


def _is_ready(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as client:
        client.request("GET", "/-/ready")
        return client.getresponse().status == 200


def test_added_node_exporter_is_scraped_soon_with_its_own_values(server: Running, exporter: Start) -> None:
    url = exporter()
    server.add(url.removeprefix("http://"))
    until(lambda: found(server.port, "up") != {}, SOON)
    target = {**LABELS, "instance": "n1"}
    assert found(server.port, "up") == {frozenset({"__name__": "up", **target}.items()): 1.0}
    own = parse(get(f"{url}/metrics")).values
    ours = found(server.port, '{job="node-exporter"}')
    for (name, labels), value in own.items():
        series = frozenset({**dict(labels), "__name__": name, **target}.items())
        assert series in ours
        if name in ("node_memory_MemTotal_bytes", "node_uname_info", "node_boot_time_seconds"):
            assert ours[series] == value
    report = {"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_series_added"}
    report.add("scrape_samples_post_metric_relabeling")
    names = {dict(series)["__name__"] for series in ours}
    assert names - {name for name, _ in own} == report


def test_real_prometheus_that_is_told_the_targets_has_the_same_series(
    server: Running, exporter: Start, tmp_path: Path
) -> None:
    server.add(exporter("--collector.disable-defaults", "--collector.uname").removeprefix("http://"))
    with (
        exporting(f"{ODD}timed 5 {now_ms()}\n") as odd,
        exporting(lambda _: said(OPENMETRICS, "Content-Type: application/openmetrics-text")) as metrics,
        prometheus(
            f"http_sd_configs: [{{url: {server.url}/sd/prometheus, refresh_interval: 1s}}]", tmp_path
        ) as port,
    ):
        server.add(odd.address, job="odd")
        server.add(metrics.address, job="openmetrics", hostname="", __metrics_path__="/other")
        everything = '{job=~".+", job!="vigie"}'  # the server tells of itself, too
        until(lambda: len(found(port, "up == 1")) == len(found(server.port, "up == 1")) == 3)
        theirs, ours = found(port, everything), found(server.port, everything)
        assert set(ours) == set(theirs)
        for series, value in theirs.items():
            if dict(series)["job"] in ("odd", "openmetrics") and "scrape_" not in dict(series)["__name__"]:
                assert ours[series] == value or (math.isnan(ours[series]) and math.isnan(value))
        same = "scrape_samples_scraped"
        assert found(server.port, same) == found(port, same)
        assert _shape(server.port) == _shape(port)
        for name in ("odd", "took", "node_uname_info"):
            assert _described(server.port, name) == _described(port, name)


def _shape(port: int) -> list[Any]:
    """Return what /api/v1/targets says, but for what must differ: pool, times and how they were found."""
    listed = json.loads(get(f"http://127.0.0.1:{port}/api/v1/targets?state=active"))["data"]
    targets = sorted(listed["activeTargets"], key=lambda target: str(target["scrapeUrl"]))
    told = ("labels", "scrapeUrl", "health", "lastError")
    return [sorted(target) + [target[name] for name in told] for target in targets] + [sorted(listed)]


def _described(port: int, name: str) -> Any:
    return json.loads(get(f"http://127.0.0.1:{port}/api/v1/metadata?metric={name}"))["data"]


def test_what_prometheus_refuses_is_refused(server: Running, tmp_path: Path) -> None:
    bad = [
        "a 1\nb\n",
        'a{b="c",b="d"} 1\n',
        "a 1_0\n",
        "a 0x10\n",
        "a 1e400\n",
        "a 1 # {} 1\n",
        "<html></html>\n",
    ]
    with contextlib.ExitStack() as stack:
        addresses = [stack.enter_context(exporting(text)).address for text in bad]
        for number, address in enumerate(addresses):
            server.add(address, hostname=f"n{number}")
        port = stack.enter_context(prometheus(f"static_configs: [{{targets: {addresses}}}]", tmp_path))
        until(lambda: len(found(port, "up")) == len(found(server.port, "up")) == len(bad))
        assert set(found(port, "up").values()) == set(found(server.port, "up").values()) == {0.0}


def test_promtool_and_prometheus_read_the_file_that_is_kept_fresh(server: Running, tmp_path: Path) -> None:
    file = server.data / "targets.yaml"
    config = tmp_path / "prometheus.yml"
    jobs = f"scrape_configs: [{{job_name: vigie, file_sd_configs: [{{files: ['{file}']}}]}}]\n"
    config.write_text(jobs)
    until(file.exists)
    server.add("10.255.255.1:9100", rack='r"1\\ é\n\u2028 \U0001f600\x7f')
    server.add("10.255.255.1:9400", job="dcgm-exporter")
    server.add("10.255.255.10:9100", hostname="n10")
    until(lambda: "10.255.255.10" in file.read_text())
    checked = output(need("promtool"), "check", "config", str(config))
    assert checked.returncode == 0, checked.stderr + checked.stdout
    said = output(need("promtool"), "check", "service-discovery", str(config), "vigie", "--timeout=5s")
    theirs = [entry["labels"] for entry in json.loads(said.stdout)]
    targets = json.loads(get(f"{server.url}/api/v1/targets"))["data"]["activeTargets"]
    assert _sorted(theirs) == _sorted([target["labels"] for target in targets])
    assert server.send("/remove_node", {"ip": "10.255.255.1"})[0] == 200
    until(lambda: "10.255.255.1:" not in file.read_text())
    assert '"10.255.255.10:9100"' in file.read_text()


def _sorted(labels: list[dict[str, str]]) -> list[dict[str, str]]:
    bare = [{name: v for name, v in each.items() if not name.startswith("__")} for each in labels]
    return sorted(bare, key=str)


def test_targets_are_scraped_again_after_a_restart(exporter: Start, tmp_path: Path) -> None:
    url = exporter("--collector.disable-defaults", "--collector.uname")
    port, data = free_port(), tmp_path / "server"
    quickly = ["env", "VIGIE_SCRAPE_INTERVAL=1"]
    command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{port}", f"--data={data}"]
    for start in range(2):
        begun = time.time()
        with running([*quickly, *command], port, "/"):
            if start == 0:
                Running(port, data).add(url.removeprefix("http://"))
            until(lambda: any(seen > begun for seen in found(port, "timestamp(up == 1)").values()))  # noqa: B023


@pytest.fixture(name="certificate")
def _certificate(tmp_path: Path) -> Path:
    command = [need("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=exporter.test", "-addext", "subjectAltName=DNS:exporter.test"]
    command += ["-keyout", "both.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    both = tmp_path / "both.pem"
    both.write_text(both.read_text() + (tmp_path / "cert.pem").read_text())
    return both


def test_exporter_behind_tls_is_scraped_if_it_is_who_it_should_be(certificate: Path, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    trusting = TlsOptions(str(certificate), server_name="exporter.test")
    for name, tls in {
        "good": trusting,
        "stranger": TlsOptions(),
        "other": trusting._replace(server_name="x"),
    }.items():
        home = tmp_path / name
        home.mkdir()
        with exporting("a 1\n", context) as secure, scraping(home, RULES._replace(tls=tls)) as bench:
            target = bench.add(secure, __scheme__="https")
            wait(lambda bench=bench, target=target: bench.state(target).health != "unknown")  # type: ignore[misc]
            if name == "good":
                assert bench.state(target).health == "up"
            else:
                assert "certificate verify failed" in bench.state(target).error
