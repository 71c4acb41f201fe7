"""Nodes without an open port: a network namespace for each, a server that they reach over a bridge."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

NODES = ("n1", "n2", "n3")
NETS = "198.18"  # set aside for tests of networks
METRIC = "node_load1"


class Network:
    """A bridge of ours, and a namespace behind it for each node."""

    def __init__(self) -> None:
        self._bridge = f"vg{os.getpid()}"
        self.net = f"{NETS}.{os.getpid() % 256}"  # two runs at a time do not meet

    def __enter__(self) -> Network:
        self._ip("link", "add", self._bridge, "type", "bridge")
        self._ip("addr", "add", f"{self.net}.1/24", "dev", self._bridge)
        self._ip("link", "set", self._bridge, "up")
        for place, node in enumerate(NODES):
            space, wire = self.space(node), self._wire(node)
            self._ip("netns", "add", space)
            self._ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", space)
            self._ip("link", "set", wire, "master", self._bridge, "up")
            self._ip("-n", space, "addr", "add", f"{self.net}.{11 + place}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                self._ip("-n", space, "link", "set", device, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for node in NODES:
            _run("netns", "del", self.space(node))
        _run("link", "del", self._bridge)

    def space(self, node: str) -> str:
        """Return the name of a node's namespace."""
        return f"{self._bridge}-{node}"

    def cut(self, node: str) -> None:
        """Pull a node's cable."""
        self._ip("link", "set", self._wire(node), "down")

    def mend(self, node: str) -> None:
        """Put it back."""
        self._ip("link", "set", self._wire(node), "up")

    def _wire(self, node: str) -> str:
        return f"{self._bridge}{node}"

    def _ip(self, *words: str) -> None:
        said = _run(*words)
        if said.returncode:
            raise RuntimeError(f"ip {' '.join(words)}: {said.stderr.strip()}")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *words], capture_output=True, text=True, timeout=60, check=False)


class Programs:
    """A server and its agents, as processes that end with it."""

    def __init__(self, home: Path, network: Network) -> None:
        self._home, self._network = home, network
        self._agents: dict[str, subprocess.Popen[bytes]] = {}
        with socket.create_server((f"{network.net}.1", 0)) as probe:
            self._address = f"{network.net}.1:{probe.getsockname()[1]}"
        self._log = (home / "log").open("wb")
        self.start_server()

    def close(self) -> None:
        """End all of them."""
        for process in [*self._agents.values(), self.server]:
            if process.poll() is None:
                process.kill()
            process.wait()
        self._log.close()

    def start_server(self) -> None:
        """Start the server, for the first time or again."""
        flags = ("server", f"--listen={self._address}", f"--data={self._home / 'data'}")
        self.server = self._started([], *flags)

    def start_agent(self, node: str) -> None:
        """Start the agent of a node."""
        flags = ("--cadence=1", "--sources=loadavg,stat", f"--log-json={self._home / node}.jsonl")
        own = (f"--data={self._home / node}", f"--node={node}", f"--server=http://{self._address}")
        enter = ["ip", "netns", "exec", self._network.space(node)]
        self._agents[node] = self._started(enter, "agent", *flags, *own)

    def stop_agent(self, node: str) -> int:
        """Stop an agent, and return its exit code."""
        self._agents[node].send_signal(signal.SIGTERM)
        return self._agents[node].wait(20)

    def frames(self, node: str) -> dict[int, float]:
        """Return what the agent itself wrote down, by time in ms."""
        lines = (self._home / f"{node}.jsonl").read_text().splitlines(keepends=True)
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        return {round(row["time"] * 1000): row["tables"]["loadavg"][METRIC] for row in rows}

    def stored(self, node: str) -> dict[int, float]:
        """Return what the server has of it."""
        data = self.ask("v1/query", query=f'{METRIC}{{instance="{node}"}}[1h]')["data"]["result"]
        return {round(at * 1000): float(value) for series in data for at, value in series["values"]}

    def up(self, value: int = 1, since: float = 0) -> set[str]:
        """Return the nodes whose up is this, by a sample that is not older."""
        asked = f'up{{job="node"}} == {value} and timestamp(up{{job="node"}}) >= {since}'
        found = self.ask("v1/query", query=asked)["data"]["result"]
        return {series["metric"]["instance"] for series in found}

    def states(self) -> dict[str, str]:
        """Return the state of each node."""
        return {node["name"]: node["state"] for node in self.ask("nodes")["nodes"]}

    def ask(self, path: str, **parameters: Any) -> Any:
        """Return what the server answers."""
        token = (self._home / "data" / "server-token").read_text().strip()
        url = f"http://{self._address}/api/{path}?{urlencode(parameters)}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())

    def is_ready(self) -> bool:
        """Tell whether the server answers."""
        try:
            with urllib.request.urlopen(f"http://{self._address}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _started(self, enter: list[str], *arguments: str) -> subprocess.Popen[bytes]:
        token = self._home / "data" / "join-token"
        secret = {"VIGIE_TOKEN": token.read_text().strip()} if token.exists() else {}
        command = [*enter, sys.executable, "-m", "vigie", *arguments]
        return subprocess.Popen(command, stdout=self._log, stderr=self._log, env={**os.environ, **secret})
