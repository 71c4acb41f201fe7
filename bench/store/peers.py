"""The stores that the embedded one is measured beside, each on loopback with its data in a directory."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Peer(NamedTuple):
    """How to start a store, where it takes samples, and how many bytes it needs for each."""

    name: str
    command: Callable[[int, Path], list[str]]
    ready: str
    write: str
    query: str
    bytes_a_sample: Callable[[int, Path, int], float]


def _prometheus(port: int, directory: Path) -> list[str]:
    (directory / "prometheus.yml").write_text("")
    return [
        "prometheus",
        f"--config.file={directory}/prometheus.yml",
        f"--storage.tsdb.path={directory}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
        "--query.max-samples=500000000",
        "--log.level=error",
    ]


def _victoria(port: int, directory: Path) -> list[str]:
    return [
        "victoria-metrics",
        f"-httpListenAddr=127.0.0.1:{port}",
        f"-storageDataPath={directory}/data",
        "-retentionPeriod=1y",
        "-search.disableCache",  # of results: the work is measured, not the memory of it
        "-search.latencyOffset=0s",
        "-search.maxUniqueTimeseries=2000000",
        "-search.maxSamplesPerQuery=4000000000",
        "-search.maxQueryDuration=300s",
        "-loggerLevel=ERROR",
    ]


def _of_blocks(_port: int, directory: Path, _samples: int) -> float:
    """Return the bytes a sample of what stands in finished blocks; the rest is in the head and the log."""
    stored, size = 0, 0
    for meta in (directory / "data").glob("*/meta.json"):
        stored += json.loads(meta.read_text())["stats"]["numSamples"]
        size += _size(meta.parent)
    return size / stored if stored else float("nan")


def _of_parts(port: int, directory: Path, samples: int) -> float:
    for path in ("/internal/force_flush", "/internal/force_merge"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=600).read()
    return _size(directory / "data") / samples


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


PEERS = [
    Peer("Prometheus", _prometheus, "/-/ready", "/api/v1/write", "/api/v1/", _of_blocks),
    Peer("VictoriaMetrics", _victoria, "/health", "/api/v1/write", "/api/v1/", _of_parts),
]


def present() -> list[Peer]:
    """Return the peers that are installed here."""
    return [peer for peer in PEERS if shutil.which(peer.command(0, Path("/tmp"))[0])]
