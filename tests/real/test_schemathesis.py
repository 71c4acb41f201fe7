"""schemathesis asks a running server everything that its OpenAPI document declares, well and badly."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.test_run import Process
from vigie.server.auth.secrets import Secrets

SEED = os.environ.get("VIGIE_SCHEMATHESIS_SEED", "1")  # another one asks other things
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
# A question that is to take no time at all gets Prometheus's 503; a 500 is looked for below as well.
CONFIGURATION = '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", 503]\n'
HOOKS = Path(__file__).with_name("schemathesis_hooks.py")
# Who asks, how many examples of each route, and whether the edges of every parameter are tried, too.
ASKING = {"admin": (8, "coverage,fuzzing"), "viewer": (4, "fuzzing"), "nobody": (2, "fuzzing")}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    running = Process(tmp_path, tmp_path / "data", "--query-timeout=5", "--log-level=error")
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


def _header(server: Process, who: str) -> str:
    if who == "nobody":
        return "X-Forwarded-For: 10.0.0.1"  # so this is not a program on the same machine
    if who == "admin":
        return f"Authorization: Bearer {server.token()}"
    secrets = Secrets(server.data)
    try:
        secrets.accounts.add(who, who)
        return f"Authorization: Bearer {secrets.accounts.new_token(who)}"
    finally:
        secrets.close()


def test_nothing_that_is_asked_makes_the_server_fail_or_its_document_a_lie(
    server: Process, tmp_path: Path
) -> None:
    document = tmp_path / "openapi.json"
    with urllib.request.urlopen(f"{server.address}/api/openapi.json", timeout=60) as answer:
        document.write_bytes(answer.read())
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    for who in ASKING:
        done = _asked(document, server.address, _header(server, who), *ASKING[who])
        assert done.returncode == 0, f"as {who}: {done.stdout[-6000:]}{done.stderr[-2000:]}"
        assert "passed" in done.stdout
    counted = server.ask("/metrics")[1].decode()
    assert 'vigie_server_requests_total{route="/api/v1/query",status="200"}' in counted  # some made sense
    assert 'status="500"' not in counted
    assert server.ask("/readyz")[0] == 200
    said = server.stop()
    assert server.process.returncode == 0
    assert "Traceback" not in said, said[-4000:]


def _asked(
    document: Path, address: str, header: str, examples: int, phases: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(document), f"--url={address}"]
    command += ["--no-color", f"--header={header}", f"--checks={','.join(CHECKS)}", "--no-shrink"]
    command += [f"--phases={phases}", f"--max-examples={examples}", "--request-timeout=20", f"--seed={SEED}"]
    command += ["--suppress-health-check=all", "--generation-database=none", "--warnings=off"]
    command += ["--exclude-path=/link", "--exclude-path=/api/logout"]
    return subprocess.run(
        command,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS), "PYTHONPATH": str(HOOKS.parents[2])},
        cwd=document.parent,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
