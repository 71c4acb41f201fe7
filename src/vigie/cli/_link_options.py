"""Links to servers, as the settings ask for them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from vigie.agent.exporters.catalog import parse_exporters
from vigie.agent.exporters.relay import Relay
from vigie.agent.gpu_processes import gpu_memory_of_processes
from vigie.agent.link.buffer import LinkBuffer
from vigie.agent.link.client import LinkClient, ServerPeer
from vigie.agent.link.commands import CommandRunner
from vigie.agent.link.credentials import LinkCredentials, credentials_directory
from vigie.agent.link.hello import NodeDescription, describe_node
from vigie.agent.link.metrics import LinkTable
from vigie.agent.source_reader import SourceReader
from vigie.cli.settings import flags
from vigie.common.config import ConfigError
from vigie.common.endpoint import Secret, TlsOptions
from vigie.common.listen import is_loopback
from vigie.common.spool import Spool
from vigie.wire.commands import CommandHandler

log = logging.getLogger(__name__)


def parts(
    settings: flags.Settings, node: str, token: str, orders: Mapping[str, CommandHandler]
) -> tuple[list[LinkClient], LinkTable]:
    """Return the links, and what they say of themselves; keys and backlogs stand in the data directory."""
    values = settings.section("link")
    labels = dict(pair.split("=", 1) for pair in values["labels"])
    listen = settings["listen"]
    me = describe_node(node, settings["cadence"], labels, "" if is_loopback(listen) else listen)
    me = me._replace(sysfs=Path(settings["sysfs"]))
    if token:
        log.warning("--token can be read in the list of processes; use --token-file or $VIGIE_TOKEN")
    files = _for_each(values["server"], values["token_file"], "link.token_file")
    prints = _for_each(values["server"], values["fingerprint"], "link.fingerprint")
    links = []
    for url, file, fingerprint in zip(values["server"], files, prints, strict=True):
        directory = credentials_directory(flags.data_directory(settings), url)
        credentials = LinkCredentials(directory / "key", Secret(file, "VIGIE_TOKEN"), token)
        peer = ServerPeer(url, credentials, TlsOptions(ca_file=values["ca_file"]), fingerprint)
        buffer = _buffer(directory, me, int(values["buffer_megabytes"] * 1e6))
        links.append(LinkClient(peer, me, buffer, CommandRunner(orders, values["refuse"])))
    return links, LinkTable(links)


def relay(
    settings: flags.Settings, links: Sequence[LinkClient], readings: Sequence[SourceReader]
) -> Relay | None:
    """Return what sends to the servers what other exporters of this node say, if that is wanted."""
    values = settings.section("exporters")
    if not values["relay"]:
        return None
    # On its own exporter ports an agent would only find itself.
    own_ports = settings["exporter_ports"]
    found = [exporter for exporter in parse_exporters(values["look_for"]) if exporter.port not in own_ports]
    return Relay(found, links, memory=partial(gpu_memory_of_processes, readings))


def _for_each(servers: Sequence[str], given: Sequence[str], key: str) -> list[str]:
    """Return one for each server: there may be none, one for all, or one for each."""
    if len(given) in (0, 1):
        return [*given, *[""]][:1] * len(servers)
    if len(given) != len(servers):
        raise ConfigError(
            f"{key} has {len(given)} entries for {len(servers)} servers: give one, or one for each"
        )
    return list(given)


def _buffer(directory: Path, me: NodeDescription, most: int) -> LinkBuffer:
    try:
        return LinkBuffer(Spool(directory / "backlog", most), me.boot_id)
    except BlockingIOError:
        raise  # another agent runs on this directory
    except OSError as error:
        log.warning("what the server misses waits in memory only: %s", error)
        return LinkBuffer(None, me.boot_id)
