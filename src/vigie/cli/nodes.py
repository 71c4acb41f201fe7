"""List, add, remove or join nodes."""

from __future__ import annotations

import argparse
import json
import socket
import sys
from pathlib import Path
from urllib.parse import quote

from vigie.cli import _list_output, _server_client
from vigie.cli.settings import flags
from vigie.common.listen import is_loopback, split_address
from vigie.common.token_file import load_or_create_token
from vigie.server.server_address import ServerAddress, read_address
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import since
from vigie.wire.api.resources import AddedNode, NodeFacts, NodeList

EXAMPLE = """examples:
  vigie nodes                                     who is there, and how they are
  vigie nodes list --state lost --json
  vigie nodes add n17                             expect it, and print the line to paste there
  vigie nodes remove n17                          it is no member any more, and its key is void
  vigie nodes join                                on the server: the line to paste on a node"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, ValueError)
STATES = ("added", "up", "late", "lost", "stopped", "removed")
COLUMNS = (
    TableColumn("node"),
    TableColumn("state", tells=True),
    TableColumn("last heard"),
    TableColumn("address", least=9, rank=2),
    TableColumn("version", least=5, rank=3),
    TableColumn("labels", least=8, rank=4),
    TableColumn("missing", least=8, rank=1),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=["list", "add", "remove", "join"],
        help="action (default: list)",
    )
    parser.add_argument("name", nargs="?", metavar="NODE", help="node to add or remove; its samples stay")
    parser.add_argument("--state", default="", choices=STATES, help="list only nodes in this state")
    parser.add_argument("--address", metavar="URL", help="join: server URL for the node")
    parser.add_argument("--config", type=Path, metavar="FILE", help="join: configuration file of the server")
    parser.add_argument("--json", action="store_true", help="print JSON")
    _server_client.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """List, add, remove or join."""
    actions = {"list": _list, "add": _add, "remove": _remove, "join": _join}
    if arguments.name and arguments.action in ("list", "join"):
        raise argparse.ArgumentError(
            None,
            f"{arguments.action} {arguments.name}: only add and remove take a node",
        )
    return actions[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> int:
    body = _server_client.request(arguments, "GET", f"api/nodes?state={quote(arguments.state)}")
    if arguments.json:
        print(body.decode())
        return 0
    nodes = _server_client.decode(body, NodeList).nodes
    if not nodes:
        empty = "No nodes connected. Run `vigie nodes join` on the server."
        print(f"No nodes are {arguments.state}." if arguments.state else empty)
        return 0
    _list_output.show_table(COLUMNS, [*map(_row, nodes)])
    return 0


def _row(node: NodeFacts) -> list[str]:
    labels = ",".join(f"{name}={value}" for name, value in sorted(node.labels.items()))
    last_seen = f"{since(node.last_seen_ms)} ago" if node.last_seen_ms else "never"
    address = node.addresses[0] if node.addresses else "-"
    missing = ",".join(node.missing)
    return [node.name, node.state, last_seen, address, node.version or "-", labels or "-", missing or "-"]


def _add(arguments: argparse.Namespace) -> int:
    if not arguments.name:
        raise argparse.ArgumentError(None, "node missing: vigie nodes add NODE")
    body = _server_client.request(arguments, "POST", f"api/nodes/{quote(arguments.name, safe='')}")
    if arguments.json:
        print(body.decode())
        return 0
    key = _server_client.decode(body, AddedNode).key
    server = _server_client.place(arguments)
    where = arguments.address or server.url
    print(f"VIGIE_TOKEN={key} vigie agent --server {where}{_pin(server.certificate)} --node {arguments.name}")
    if not arguments.address and _server_client.is_here(where):
        print("that is this machine. Set --address URL for other machines", file=sys.stderr)
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    if not arguments.name:
        raise argparse.ArgumentError(None, "node missing: vigie nodes remove NODE")
    body = _server_client.request(arguments, "DELETE", f"api/nodes/{quote(arguments.name, safe='')}")
    print(body.decode() if arguments.json else f"{arguments.name} removed, its samples stay")
    return 0


def _join(arguments: argparse.Namespace) -> int:
    given = {"server.data": str(arguments.data)} if arguments.data else {}
    settings = flags.resolve(argparse.Namespace(config=arguments.config, **given))
    values = settings.section("server")
    directory = flags.data_directory(settings, "server")
    try:
        token = load_or_create_token(directory / "join-token")
    except FileNotFoundError:
        raise ValueError(f"{directory}: no join token. Start the server once, or set --data DIR") from None
    # What it was started with last tells more than the configuration: flags, and a port that was free.
    here = read_address(directory) or ServerAddress("", values["listen"], values["tls_cert"])
    where = arguments.address or _address(here)
    if arguments.json:
        print(json.dumps({"token": token, "server": where, "fingerprint": _fingerprint(here.certificate)}))
    else:
        print(f"VIGIE_TOKEN={token} vigie agent --server {where}{_pin(here.certificate)}")
    return 0


def _address(here: ServerAddress) -> str:
    _, port = split_address(here.listen)
    scheme = "https" if here.certificate else "http"
    if is_loopback(here.listen):
        print(
            f"the server listens on {here.listen} only. For other machines: --listen 0.0.0.0:{port}",
            file=sys.stderr,
        )
    return f"{scheme}://{socket.gethostname()}:{port}"


def _pin(certificate: str) -> str:
    return f" --fingerprint {_fingerprint(certificate)}" if certificate else ""


def _fingerprint(certificate: str) -> str:
    from vigie.server.http.tls import fingerprint  # only when used

    return fingerprint(Path(certificate)) if certificate else ""
