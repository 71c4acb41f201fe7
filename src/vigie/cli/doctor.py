"""Check this machine, suggest fixes."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import vigie
from vigie.agent.collector import Collector
from vigie.agent.http.status import build_status
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.cli import _agent_client
from vigie.cli.settings import flags

EXAMPLE = """examples:
  vigie doctor
  sudo vigie doctor        with what only root can read
  vigie doctor --json"""
ERRORS = flags.ERRORS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    flags.add_arguments(parser, "doctor")


def run(arguments: argparse.Namespace) -> int:
    """Read every source once and report; 1 when a source fails that should work."""
    settings = flags.resolve(arguments)
    collector = Collector(flags.build_readers(settings))
    if sys.stderr.isatty():
        print(f"reading {len(collector.readers)} sources ...", file=sys.stderr)
    collector.refresh_now()
    readings = collector.readers
    running = _running(settings)
    if arguments.json:
        now = max(reading.read_at for reading in readings)
        document = build_status(flags.node_name(settings), readings, now)
        print(json.dumps(document | {"advice": list(advice(readings)), "agent": running}, indent=2))
    else:
        report(flags.node_name(settings), readings)
        if settings.left_out:
            names = ",".join(settings.left_out)
            print(f"\nOff by default\n  {names} (vigie agent --with-sources {names})")
        print("\nLocal agent")
        for line in _describe_agent(running):
            print(f"  {line}")
    collector.close()
    return 1 if any(_failed(reading) for reading in readings) else 0


def report(node: str, readings: Sequence[SourceReader]) -> None:
    who = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}, not root"
    python = platform.python_version()
    print(f"{node}: Linux {os.uname().release}, Python {python}, vigie {vigie.__version__}, as {who}\n")
    works = [reading for reading in readings if reading.outcome is Outcome.OK]
    print(f"Working ({len(works)} of {len(readings)} sources)")
    for reading in works:
        count = len(reading.values.numbers)
        print(f"  {reading.source.name:<18}{count:>6} series  {reading.duration * 1e3:8.2f} ms")
        for where, why in reading.host.notes.items():
            print(f"  {'':<18}       {where}: {why}")
    rest = [reading for reading in readings if reading.outcome is not Outcome.OK]
    for title, group in (
        ("Failing", [reading for reading in rest if _failed(reading)]),
        ("Not available", [reading for reading in rest if not _failed(reading)]),
    ):
        if group:
            print(f"\n{title}")
            for reading in group:
                print(f"  {reading.source.name:<18}{reading.reason}")
    lines = list(advice(readings))
    if lines:
        print("\nNext steps")
        for line in lines:
            print(f"  {line}")


def _running(settings: flags.Settings) -> dict[str, Any]:
    """Return the state of the local agent and its links, or why it is unknown."""
    place = flags.socket_path(settings)
    try:
        if place is None:
            raise _agent_client.NoAgentError("socket off (agent.socket)")
        status, body = _agent_client.request([place], "/links")
    except _agent_client.NoAgentError as error:
        return {"running": None, "reason": str(error)}
    if status != 200:
        return {"running": True, "reason": body.decode(errors="replace").strip()}
    return {"running": True, "links": json.loads(body)["links"]}


def _describe_agent(running: dict[str, Any]) -> Iterator[str]:
    if "reason" in running:
        yield f"{'running' if running['running'] else 'unknown'}: {running['reason']}"
    elif not running["links"]:
        yield "running, sends to no server (vigie agent --server URL)"
    for link in running.get("links", []):
        state = "connected" if link["connected"] else f"not connected: {link['trouble'] or 'connecting'}"
        yield f"{link['server']}: {state}, {link['waiting_bytes']} bytes buffered"


def advice(readings: Sequence[SourceReader]) -> Iterator[str]:
    """Yield the next steps."""
    denied = [reading.source.name for reading in readings if _denied(reading)]
    if denied and os.geteuid() != 0:
        yield f"{', '.join(denied)}: root can read more: sudo vigie agent"
    for reading in readings:
        if _failed(reading):
            name = reading.source.name
            yield f"{name}: turn it off with --no-sources {name}, and report it: vigie agent --record DIR"


def _failed(reading: SourceReader) -> bool:
    return reading.outcome in (Outcome.ERROR, Outcome.HUNG)


def _denied(reading: SourceReader) -> bool:
    reasons: list[Any] = [reading.reason, *reading.host.notes.values()]
    return any("ermission" in reason for reason in reasons)
