"""Remote write out, as the settings ask for it."""

from __future__ import annotations

import logging
from pathlib import Path

from vigie.cli.settings import flags
from vigie.common.endpoint import Endpoint, Secret, TlsOptions
from vigie.sinks.core.background_sink import BackgroundSink
from vigie.sinks.remote_write import RemoteWrite, RemoteWriteMetrics, RemoteWriteOptions

log = logging.getLogger(__name__)


def parts(settings: flags.Settings, node: str) -> tuple[BackgroundSink, RemoteWriteMetrics]:
    """Return the feeder and what it says of itself; what waits is kept under the agent's data directory."""
    sink = sink_of(settings, flags.data_directory(settings) / "remote-write")
    return BackgroundSink(
        "remote write", lambda frame: sink.write(frame, node), sink.close
    ), RemoteWriteMetrics(sink)


def sink_of(settings: flags.Settings, queue: Path) -> RemoteWrite:
    """Return what sends; what waits is kept in a directory of its own."""
    if settings.section("remote_write")["insecure"]:
        log.warning("remote write: insecure = true, so nobody checks who receives what is sent")
    return RemoteWrite(target(settings), queue, options(settings))


def target(settings: flags.Settings) -> Endpoint:
    """Return the peer and what its requests carry."""
    values = settings.section("remote_write")
    return Endpoint(
        values["url"],
        tuple(_pair(each, ":") for each in values["headers"]),
        values["user"],
        Secret(values["password_file"], "VIGIE_REMOTE_WRITE_PASSWORD"),
        Secret(values["token_file"], "VIGIE_REMOTE_WRITE_TOKEN"),
        TlsOptions(
            *(values[name] for name in ("ca_file", "cert_file", "key_file", "server_name", "insecure"))
        ),
    )


def options(settings: flags.Settings) -> RemoteWriteOptions:
    values = settings.section("remote_write")
    return RemoteWriteOptions(
        external_labels=tuple(_pair(each, "=") for each in values["external_labels"]),
        queue_bytes=int(values["queue_megabytes"] * 1e6),
        batch_samples=int(values["batch_samples"]),
        batch_seconds=values["batch_seconds"],
    )


def _pair(text: str, separator: str) -> tuple[str, str]:
    name, _, value = text.partition(separator)
    return name.strip(), value.strip()
