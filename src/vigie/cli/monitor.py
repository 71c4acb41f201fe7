"""Monitor genv environments on this machine: genv's metrics, and its files for Prometheus and Grafana."""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import signal
import sys
from pathlib import Path

from vigie.agent.collector import Collector
from vigie.agent.http import server
from vigie.agent.http.server import Request, Response
from vigie.agent.source_reader import SourceReader
from vigie.cli import _argument_types, agent
from vigie.cli.settings import flags
from vigie.common import listen, logs
from vigie.publishing.genv_bundle import publish_genv
from vigie.publishing.options import InvalidOptionError
from vigie.wire.exposition.renderer import TEXT, Renderer

EXAMPLE = """examples:
  sudo vigie monitor                      http://127.0.0.1:8000/metrics, files in /var/tmp/genv/metrics
  vigie monitor -p 8001 -i 5 --config-dir /srv/genv
  prometheus --config.file=/var/tmp/genv/metrics/prometheus/prometheus.yml
  grafana server --config /var/tmp/genv/metrics/grafana/grafana.ini"""
HOST = "127.0.0.1"


class MonitorError(Exception):
    """The monitor cannot run; the message says why and what to type."""


ERRORS = (*flags.ERRORS, InvalidOptionError, MonitorError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare genv's flags."""
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="for the files (default: metrics in genv's directory)"
    )
    parser.add_argument("-p", "--port", type=int, default=8000, help="exporter port (default: %(default)s)")
    parser.add_argument(
        "-i",
        "--interval",
        type=_argument_types.seconds,
        default=10.0,
        metavar="SECONDS",
        help="between two reads (default: 10)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Publish the files and serve the metrics until interrupted."""
    logs.configure("warning", "text")
    home = Path(os.environ.get("GENV_TMPDIR") or "/var/tmp/genv")  # noqa: S108 - genv's own choice
    root = (arguments.config_dir or home / "metrics").resolve()
    asyncio.run(_monitor(arguments.port, arguments.interval, root))
    return 0


async def _monitor(port: int, interval: float, root: Path) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    collector = Collector([_genv_reader()])
    exporter = GenvExporter(collector)
    try:
        await exporter.refresh()
        listening = await _listen(exporter, port)
        publish_genv(root, port)
        print(f"genv metrics on http://{HOST}:{port}/metrics, files in {root}", flush=True)
        while not stop.is_set():
            waiting = asyncio.ensure_future(stop.wait())
            await asyncio.wait([waiting], timeout=interval)
            waiting.cancel()
            await exporter.refresh()
        listening.close()
    finally:
        collector.close()


def _genv_reader() -> SourceReader:
    """Return the reader of the genv source, set up as an agent's configuration says."""
    parser = argparse.ArgumentParser()
    agent.add_arguments(parser)
    given = parser.parse_args(["--sources", "genv", "--option", "genv.when_absent=yes"])
    (reader,) = flags.build_readers(flags.resolve(given))
    return reader


async def _listen(exporter: GenvExporter, port: int) -> asyncio.Server:
    try:
        return await server.serve(exporter.answer, HOST, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        holder = listen.port_holder(port)
        raise MonitorError(f"port {port} is used by {holder}. Try: vigie monitor -p {port + 1}") from None


class GenvExporter:
    """Serves what the genv source read last, at every path, as genv does."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._renderer = Renderer()
        self._reported: dict[str, str] = {}

    async def refresh(self) -> None:
        """Read again, and print each new problem once."""
        await self._collector.refresh_all(self._collector.readers)
        (reader,) = self._collector.readers
        notes = dict(reader.host.notes)
        if reader.reason:
            notes["genv"] = reader.reason
        for where, why in notes.items():
            if self._reported.get(where) != why:
                print(f"vigie monitor: {where}: {why}", file=sys.stderr, flush=True)
        self._reported = notes

    async def answer(self, _: Request) -> Response:
        """Return the metrics."""
        text = self._renderer.render(self._collector.values(), TEXT)
        return Response(200, text.encode("utf-8", "replace"), TEXT.content_type)
