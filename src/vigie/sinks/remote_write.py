"""Remote write out: frames or series are sent to a Prometheus-compatible engine."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from vigie.common.config import Setting, number, pairs, peer, seconds, url
from vigie.model import Frame
from vigie.sinks._remote_write.metrics import METRICS as METRICS
from vigie.sinks.core.sink import OpenSink, SettingValues, Sink

if TYPE_CHECKING:
    from vigie.common.endpoint import Endpoint
    from vigie.sinks._remote_write.sender import RemoteWrite as RemoteWrite
    from vigie.sinks._remote_write.sender import RemoteWriteOptions

SECTION = "remote_write"
log = logging.getLogger(__name__)


def open_sender(values: SettingValues, queue: Path) -> RemoteWrite:
    """Return what sends; what waits is kept in a directory of its own."""
    from vigie.sinks._remote_write.sender import RemoteWrite  # only when used: it needs an HTTP client

    if values[f"{SECTION}.insecure"]:
        log.warning("remote write: insecure = true, the peer's certificate is not verified")
    return RemoteWrite(read_endpoint(values), queue, read_options(values))


def read_endpoint(values: SettingValues) -> Endpoint:
    """Return the peer and what its requests carry."""
    from vigie.common.endpoint import Endpoint, Secret, TlsOptions  # only when used: it needs TLS

    ours = _section(values)
    return Endpoint(
        ours["url"],
        tuple(_split(each, ":") for each in ours["headers"]),
        ours["user"],
        Secret(ours["password_file"], "VIGIE_REMOTE_WRITE_PASSWORD"),
        Secret(ours["token_file"], "VIGIE_REMOTE_WRITE_TOKEN"),
        TlsOptions(*(ours[name] for name in ("ca_file", "cert_file", "key_file", "server_name", "insecure"))),
    )


def read_options(values: SettingValues) -> RemoteWriteOptions:
    """Return how samples are batched and queued."""
    from vigie.sinks._remote_write.sender import RemoteWriteOptions

    ours = _section(values)
    return RemoteWriteOptions(
        external_labels=tuple(_split(each, "=") for each in ours["external_labels"]),
        queue_bytes=int(ours["queue_megabytes"] * 1e6),
        batch_samples=int(ours["batch_samples"]),
        batch_seconds=ours["batch_seconds"],
    )


def _section(values: SettingValues) -> SettingValues:
    return {
        key.removeprefix(f"{SECTION}."): value for key, value in values.items() if key.startswith(SECTION)
    }


def _split(text: str, separator: str) -> tuple[str, str]:
    name, _, value = text.partition(separator)
    return name.strip(), value.strip()


def _open(values: SettingValues, node: str, data: Path) -> OpenSink | None:
    if not values[f"{SECTION}.url"]:
        return None
    sender = open_sender(values, data / "remote-write")
    port = int(values[f"{SECTION}.instance_port"])
    instance = f"{node}:{port}" if port else node

    def write(frame: Frame) -> None:
        sender.write(frame, instance)

    return OpenSink("remote write", write, sender.close, sender.metrics)


SINK = Sink(
    (
        Setting(
            SECTION,
            "url",
            "",
            "Send samples to this URL by Prometheus remote write, such as http://prometheus:9090/api/v1/write.",
            url,
            ("agent", "server", "up", "demo"),
            flag="remote-write",
        ),
        Setting(
            SECTION,
            "external_labels",
            [],
            "Labels for every series that lacks them, such as cluster=c1.",
            pairs("=", "cluster=c1"),
        ),
        Setting(
            SECTION,
            "headers",
            [],
            "Headers of every request, such as X-Scope-OrgID: one.",
            pairs(":", "X-Scope-OrgID: one"),
        ),
        Setting(
            SECTION,
            "instance_port",
            0.0,
            "Port to append to an agent's `instance`, for dashboards that filter on it. 0: none.",
            number(0, 65535),
        ),
        *peer(SECTION),
        Setting(
            SECTION,
            "queue_megabytes",
            64.0,
            "Maximum queue on disk while the peer is unreachable; the oldest is dropped first.",
            number(1, 1e6),
        ),
        Setting(SECTION, "batch_samples", 2000.0, "Samples per request, about.", number(1, 100_000)),
        Setting(SECTION, "batch_seconds", 5.0, "Maximum time a sample waits for others.", seconds(0, 60)),
    ),
    _open,
)
