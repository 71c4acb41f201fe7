"""Collect this machine's metrics, and serve them on /metrics."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vigie.agent import agent
from vigie.agent.collector import Collector
from vigie.agent.http.gpu_commands import GpuCommands
from vigie.agent.loop import OwnTable
from vigie.agent.source_reader import Outcome
from vigie.cli.settings import flags
from vigie.cli.settings.flags import Settings
from vigie.common import listen, logs
from vigie.common.token_file import scrape_token
from vigie.sinks.core.background_sink import BackgroundSink
from vigie.sinks.core.registry import find_sinks
from vigie.wire.exposition.renderer import TEXT, Renderer

if TYPE_CHECKING:
    from vigie.agent.tracing.service import NodeTracing

EXAMPLE = """examples:
  vigie agent                                     serve http://127.0.0.1:9797/metrics
  vigie agent --once --sources cpu,meminfo        read once, print, and stop
  vigie agent --log-json -                        a line of JSON every 10 s
  vigie agent --server http://head:8000           send everything to a server (see vigie nodes join)
  vigie agent --remote-write http://prometheus:9090/api/v1/write
  vigie agent --listen 0.0.0.0:9797               for a Prometheus elsewhere, with a token
  vigie agent --record DIR                        record this machine, scrubbed, for a bug report"""
ERRORS = (*flags.ERRORS, agent.AgentStartError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="read every source once, print, and exit")
    parser.add_argument("--record", type=Path, metavar="DIR", help="record this machine into DIR and exit")
    parser.add_argument("--replay", type=Path, metavar="DIR", help="read a recorded machine instead")
    parser.add_argument("--token", default="", help="join token; visible in process lists, see --token-file")
    flags.add_arguments(parser, "agent")


def run(arguments: argparse.Namespace) -> int:
    settings = flags.resolve(arguments)
    logs.configure(settings["log_level"], settings["log_format"])
    if arguments.record:
        return _record(settings, arguments.record)
    with tempfile.TemporaryDirectory(prefix="vigie-replay-") as directory:
        collector = Collector(flags.build_readers(settings, _unpacked(arguments.replay, directory)))
        if arguments.once:
            return _once(collector, chosen=bool(settings["sources"]))
        asyncio.run(_run(settings, collector, arguments.token))
    return 0


async def _run(settings: Settings, collector: Collector, join_token: str) -> None:
    await agent.run(_build_config(settings, collector, join_token))


def _once(collector: Collector, *, chosen: bool) -> int:
    collector.refresh_now()
    collector.close()
    sys.stdout.write(Renderer().render(collector.values(), TEXT).encode("utf-8", "replace").decode())
    failed = [r for r in collector.readers if r.outcome in (Outcome.ERROR, Outcome.HUNG)]
    for reading in collector.readers if chosen else failed:
        if reading.outcome is not Outcome.OK:
            name = reading.source.name
            print(f"source {name}: {reading.outcome.value}: {reading.reason}", file=sys.stderr)
    return 1 if failed else 0


def _unpacked(recording: Path | None, directory: str) -> Path | None:
    if recording is None:
        return None
    from vigie.sources.core.replay import unpack  # only when used

    archives = sorted(recording.glob("*.txt"))
    if not archives:
        raise FileNotFoundError(f"{recording}: no recording (*.txt). To make one: vigie agent --record DIR")
    for archive in archives:
        unpack(archive.read_text(encoding="utf-8", errors="surrogateescape"), directory)
    return Path(directory)


def _record(settings: Settings, directory: Path) -> int:
    from vigie.agent.recorder import record

    for line in record(flags.build_readers(settings), directory):
        print(line, file=sys.stderr)
    return 0


def _build_config(settings: Settings, collector: Collector, join_token: str) -> agent.AgentConfig:
    node = flags.node_name(settings)
    opened = [sink.open(settings.effective, node, flags.data_directory(settings)) for sink in find_sinks()]
    sinks = [sink for sink in opened if sink]
    tables: list[OwnTable] = [sink.metrics for sink in sinks if sink.metrics]
    gpus = GpuCommands(collector.readers)
    tracing = _build_tracing(settings, gpus)
    links: Sequence[agent.LinkHandle] = ()
    relay: agent.ExporterRelay | None = None
    if settings.section("link")["server"]:
        from vigie.cli import _link_options  # only when used: it needs a WebSocket client

        handlers = {**gpus.handlers(), **(tracing.handlers() if tracing else {})}
        found, link_table = _link_options.parts(settings, node, join_token, handlers)
        links, relay = found, _link_options.relay(settings, found, collector.readers)
        tables.append(link_table)
    token = _token(settings)
    return agent.AgentConfig(
        node,
        settings["listen"],
        token,
        settings["cadence"],
        collector,
        [BackgroundSink(sink.name, sink.write, sink.close) for sink in sinks],
        tables,
        links,
        relay,
        tracing,
        flags.socket_path(settings),
        flags.data_directory(settings) / "agent-memory.json" if links else None,
        settings["dialects"],
        settings["exporter_ports"],
        flags.data_directory(settings) / "jobs.json",
    )


def _build_tracing(settings: Settings, gpus: GpuCommands) -> NodeTracing | None:
    values = settings.section("trace")
    is_used = settings.section("link")["server"] or values["dyno_rpc"]
    if values["serve"] == "off" or not is_used:
        return None
    from vigie.agent.tracing.service import NodeTracing  # only when used: it decodes messages

    return NodeTracing(values["socket_dirs"], profiling=gpus, dyno_address=values["dyno_rpc"])


def _token(settings: Settings) -> str | None:
    if listen.is_loopback(settings["listen"]):
        return None
    log = logging.getLogger(__name__)
    if settings["auth"] == "none":
        log.warning("%s: no authentication required (auth = none)", settings["listen"])
        return None
    token, path = scrape_token(flags.data_directory(settings))
    log.info("scrapers need the token in %s (authorization: credentials_file)", path)
    return token
