"""Bindings from a source's file on a node to the command line, through real processes."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.programs import free_port

from tests.real.waiting import until

pytestmark = pytest.mark.real

ME = pwd.getpwuid(os.geteuid()).pw_name
SOURCE = f"""
from vigie.sources.core.source import Source

def read(host):
    host.bind("gpu:0", "job", "4711", from_ms=1000, user="somebody", name="theirs")
    host.bind("gpu:1", "job", "4712", from_ms=1000, user="{ME}", name="mine")
    return []

SOURCE = Source("holders", (), read)
"""


def vigie(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vigie", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=False, env={**os.environ, **environ}
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Run a server that hides people from each other, and an agent with the source; give its address."""
    home = Path(tmp_path_factory.mktemp("h"))
    (home / "sources").mkdir(mode=0o700)
    (home / "sources" / "holders.py").write_text(SOURCE)
    (home / "sources" / "holders.py").chmod(0o600)
    url = f"http://127.0.0.1:{free_port()}"
    environ = {**os.environ, "VIGIE_AGENT_SOCKET": str(home / "agent.sock")}
    base = [sys.executable, "-m", "vigie"]
    flags = ["--listen", url.removeprefix("http://"), "--data", str(home / "server"), "--privacy", "own"]
    server = subprocess.Popen([*base, "server", *flags], stderr=subprocess.DEVNULL)
    agent = None
    try:
        until(lambda: urllib.request.urlopen(f"{url}/readyz", timeout=5).status == 200, "the server is ready")
        token = home / "server" / "join-token"
        flags = ["--server", url, "--token-file", str(token), "--listen", f"127.0.0.1:{free_port()}"]
        flags += ["--data", str(home / "agent"), "--source-dirs", str(home / "sources"), "--cadence", "1"]
        agent = subprocess.Popen(
            [*base, "agent", *flags, "--sources", "holders,loadavg", "--node", "n1"],
            stderr=subprocess.DEVNULL,
            env=environ,
        )
        until(lambda: len(_bindings(url)) == 2, "both bindings are there")
        yield home, url
    finally:
        for process in filter(None, (agent, server)):
            process.terminate()
            process.wait(60)


def _bindings(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/api/bindings", timeout=60) as answer:
        found: list[dict[str, Any]] = json.load(answer)["bindings"]
    return found


def test_user_on_a_node_sees_his_own_without_a_secret(home: tuple[Path, str]) -> None:
    said = vigie("who", "--server", "agent", VIGIE_AGENT_SOCKET=str(home[0] / "agent.sock"))
    rows = [line.split() for line in said.stdout.splitlines()]
    assert rows[2][:8] == ["n1", "gpu", "1", ME, "job", "4712", "mine", rows[2][-1]], said
    assert rows[1][3].startswith("user-")
    assert "somebody" not in said.stdout


def test_admin_sees_everybody_and_a_stranger_nobody(home: tuple[Path, str]) -> None:
    directory, url = home
    admin = vigie("jobs", "--server", url, "--data", str(directory / "server"), "--json")
    assert {json.loads(line)["user"] for line in admin.stdout.splitlines()} == {"somebody", ME}
    stranger = vigie("jobs", "--server", url, "--data", str(directory / "none"), "--json")
    assert {json.loads(line)["user"].partition("-")[0] for line in stranger.stdout.splitlines()} == {"user"}


def test_doctor_tells_how_the_agent_and_its_link_are_doing(home: tuple[Path, str]) -> None:
    directory, url = home
    place = str(directory / "agent.sock")
    said = json.loads(vigie("doctor", "--json", "--sources", "loadavg", VIGIE_AGENT_SOCKET=place).stdout)
    (link,) = said["agent"]["links"]
    assert (link["server"], link["connected"]) == (url, True)
    people = vigie("doctor", "--sources", "loadavg", VIGIE_AGENT_SOCKET=place).stdout
    assert f"{url}: connected" in people
    nothing = vigie("doctor", "--sources", "loadavg", VIGIE_AGENT_SOCKET=str(directory / "none.sock")).stdout
    assert "no agent responds at" in nothing


def test_bindings_are_series_to_join_with(home: tuple[Path, str]) -> None:
    directory, url = home
    said = vigie("query", 'vigie_holder_info{gpu="0"}', "--server", url, "--data", str(directory / "server"))
    assert "4711" in said.stdout
    assert "somebody" in said.stdout
