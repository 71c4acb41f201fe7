from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from bench.programs import free_port

from tests.sinks.peer import Peer
from vigie.model.nan import STALE_BITS

pytestmark = pytest.mark.process


def test_agent_sends_its_frames_says_so_and_ends_its_series(tmp_path: Path) -> None:
    port = free_port()
    flags = ["--sources=loadavg", "--cadence=1", "--node=n1", f"--listen=127.0.0.1:{port}"]
    environment = os.environ | {
        "VIGIE_REMOTE_WRITE_TOKEN": "sesame",
        "VIGIE_REMOTE_WRITE_EXTERNAL_LABELS": "cluster=c1",
        "VIGIE_REMOTE_WRITE_BATCH_SECONDS": "0",
    }
    with Peer() as peer:
        peer.moods.append("500")
        command = [sys.executable, "-m", "vigie", "agent", *flags, f"--data={tmp_path}"]
        agent = subprocess.Popen(
            [*command, f"--remote-write={peer.url}"], env=environment, stderr=subprocess.PIPE, text=True
        )
        try:
            peer.wait(lambda: len(peer.values(__name__="node_load1")) >= 2)
            said = _said(port)
        finally:
            agent.send_signal(signal.SIGTERM)
            _, log = agent.communicate(timeout=60)
    assert agent.returncode == 0, log
    labels = dict(peer.taken[0][0])
    assert (labels["instance"], labels["job"], labels["cluster"]) == ("n1", "node", "c1")
    assert peer.headers[-1]["Authorization"] == "Bearer sesame"
    assert [bits for _, bits in peer.values(__name__="node_load5")][-1] == STALE_BITS
    assert "vigie_remote_write_failures_total 1" in said
    assert "500 not now" in log
    assert "sesame" not in log


def _said(port: int) -> str:
    deadline = time.monotonic() + 60
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text: str = answer.read().decode()
        if "vigie_remote_write_samples_sent_total 0" not in text or time.monotonic() > deadline:
            return text


def test_agent_without_remote_write_imports_none_of_it() -> None:
    script = (
        "import sys; from vigie.cli import main; main(['agent', '--once', '--sources=loadavg']); "
        "print([name for name in ('vigie.common.endpoint', 'vigie.common.spool', 'http.client', 'cramjam') "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"
