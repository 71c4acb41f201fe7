"""Look inside running jobs: traces of PyTorch across ranks, and stacks."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from vigie.cli import _server_client
from vigie.cli.settings import flags
from vigie.views.text.trace_report import format_detail, format_sessions, format_stacks, format_trainers
from vigie.wire.api.trace_session import OPEN, TraceSelection, TraceSwitches
from vigie.wire.api.traces import (
    StackAnswer,
    StackRequestBody,
    TraceDetail,
    TraceList,
    TraceRequestBody,
    TrainerRows,
)

EXAMPLE = """examples:
  vigie trace start --job 4711                    500 ms of every rank, starting together
  vigie trace start --job 4711 --iterations 5 --shapes
  vigie trace list
  vigie trace show 5f2c9a                         where the time went, and which rank differs
  vigie trace get 5f2c9a --to traces/             download the files
  vigie trace stacks --job 4711                   what every rank does right now
  vigie trace enable slurm                        make later jobs traceable"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, ValueError)
ACTIONS = ("start", "list", "show", "get", "rm", "cancel", "stacks", "trainers", "enable")
POLL_SECONDS = 2.0
ENABLE = {
    "slurm": (
        "Add this line to the TaskProlog script of slurm.conf:",
        'echo "export KINETO_USE_DAEMON=1"',
    ),
    "profile": ("Write this line to /etc/profile.d/vigie-trace.sh:", "export KINETO_USE_DAEMON=1"),
    "kubernetes": (
        "Add this to the container's env, and mount the agent's socket directory at the same path:",
        '- {name: KINETO_USE_DAEMON, value: "1"}\n- {name: KINETO_IPC_SOCKET_DIR, value: /run/vigie/kineto}',
    ),
    "docker": (
        "Start containers with:",
        "-e KINETO_USE_DAEMON=1 -e KINETO_IPC_SOCKET_DIR=/run/vigie/kineto"
        " -v /run/vigie/kineto:/run/vigie/kineto",
    ),
}
COST = (
    "Cost: PyTorch polls the agent every 5 s. While no agent runs, each process prints an error line"
    " about every 10 s."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("action", choices=ACTIONS, help="what to do")
    parser.add_argument("name", nargs="?", default="", metavar="ID", help="the trace; or where to enable")
    parser.add_argument("--job", default="", help="only this job")
    parser.add_argument("--nodes", default="", metavar="N,N", help="only these nodes")
    parser.add_argument("--pids", default="", metavar="P,P", help="only these processes or their children")
    parser.add_argument("--user", default="", help="only this user's processes")
    parser.add_argument(
        "--duration", type=int, default=500, metavar="MS", help="length (default: %(default)s)"
    )
    parser.add_argument("--iterations", type=int, default=0, metavar="N", help="steps instead of a duration")
    for flag in ("shapes", "memory", "stacks", "flops", "modules"):
        parser.add_argument(f"--{flag}", action="store_true", help=f"record {flag} too: larger and slower")
    parser.add_argument("--all", action="store_true", help="launchers too, not only ranks")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the result")
    parser.add_argument("--to", type=Path, default=Path(), metavar="DIR", help="get: where to write")
    parser.add_argument("--json", action="store_true", help="raw response")
    _server_client.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    actions = {
        "start": _start,
        "list": _list,
        "show": _show,
        "get": _get,
        "rm": _remove,
        "cancel": _cancel,
        "stacks": _stacks,
        "trainers": _list_trainers,
        "enable": _enable,
    }
    if arguments.action in ("show", "get", "rm", "cancel") and not arguments.name:
        raise argparse.ArgumentError(None, f"{arguments.action} needs a trace: see `vigie trace list`")
    return actions[arguments.action](arguments)


def _start(arguments: argparse.Namespace) -> int:
    selection = TraceSelection(
        job=arguments.job,
        nodes=_split(arguments.nodes),
        pids=_split_pids(arguments.pids),
        user=arguments.user,
        include_launchers=arguments.all,
    )
    switches = TraceSwitches(
        record_shapes=arguments.shapes,
        profile_memory=arguments.memory,
        with_stacks=arguments.stacks,
        with_flops=arguments.flops,
        with_modules=arguments.modules,
    )
    body = TraceRequestBody(
        selection=selection,
        duration_ms=arguments.duration,
        iterations=arguments.iterations,
        switches=switches,
    )
    detail = _post_detail(arguments, "api/traces", msgspec.json.encode(body))
    if not arguments.no_wait:
        detail = _follow(arguments, detail)
    _print_detail(arguments, detail)
    return 0 if detail.session.state in (OPEN, "done") else 1


def _follow(arguments: argparse.Namespace, detail: TraceDetail) -> TraceDetail:
    """Show how far the ranks are until the trace is over."""
    shown = ""
    while detail.session.state == OPEN:
        counts: dict[str, int] = {}
        for rank in detail.session.ranks:
            counts[rank.state] = counts.get(rank.state, 0) + 1
        line = ", ".join(f"{count} {state}" for state, count in counts.items())
        if line != shown and not arguments.json:
            print(f"{detail.session.id}: {line}", file=sys.stderr, flush=True)
            shown = line
        time.sleep(POLL_SECONDS)
        detail = _get_detail(arguments, detail.session.id)
    return detail


def _list(arguments: argparse.Namespace) -> int:
    body = _server_client.request(arguments, "GET", "api/traces")
    print(
        body.decode() if arguments.json else format_sessions(msgspec.json.decode(body, type=TraceList).traces)
    )
    return 0


def _show(arguments: argparse.Namespace) -> int:
    _print_detail(arguments, _get_detail(arguments, _resolve(arguments)))
    return 0


def _get(arguments: argparse.Namespace) -> int:
    session_id = _resolve(arguments)
    detail = _get_detail(arguments, session_id)
    collected = [rank for rank in detail.session.ranks if rank.state == "collected"]
    if not collected:
        raise ValueError(f"trace {session_id} has no files: {detail.session.verdict or detail.session.state}")
    arguments.to.mkdir(parents=True, exist_ok=True)
    for rank in collected:
        body = _server_client.request(
            arguments, "GET", f"api/traces/{session_id}/{quote(rank.label)}.json.gz"
        )
        path = arguments.to / f"{session_id}-{rank.label}.json.gz"
        path.write_bytes(body)
        print(f"{path}  {len(body) / 1e6:.1f} MB")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    session_id = _resolve(arguments)
    _server_client.request(arguments, "DELETE", f"api/traces/{session_id}")
    print(f"Removed trace {session_id}.")
    return 0


def _cancel(arguments: argparse.Namespace) -> int:
    session_id = _resolve(arguments)
    _post_detail(arguments, f"api/traces/{session_id}/cancel", b"{}")
    print(f"Canceled trace {session_id}.")
    return 0


def _stacks(arguments: argparse.Namespace) -> int:
    body = StackRequestBody(
        job=arguments.job, nodes=_split(arguments.nodes), pids=_split_pids(arguments.pids)
    )
    answer = _server_client.request(arguments, "POST", "api/stacks", msgspec.json.encode(body))
    print(answer.decode() if arguments.json else format_stacks(msgspec.json.decode(answer, type=StackAnswer)))
    return 0


def _list_trainers(arguments: argparse.Namespace) -> int:
    query = f"job={quote(arguments.job)}&node={quote(arguments.nodes)}"
    body = _server_client.request(arguments, "GET", f"api/trainers?{query}")
    print(body.decode() if arguments.json else format_trainers(msgspec.json.decode(body, type=TrainerRows)))
    return 0


def _enable(arguments: argparse.Namespace) -> int:
    where = arguments.name or "profile"
    if where not in ENABLE:
        raise argparse.ArgumentError(None, f"invalid place {where!r}: use {', '.join(ENABLE)}")
    what, line = ENABLE[where]
    print(f"{what}\n\n{line}\n\n{COST}")
    return 0


def _resolve(arguments: argparse.Namespace) -> str:
    """Return the whole id of which a beginning was given."""
    body = _server_client.request(arguments, "GET", "api/traces")
    ids = [s.id for s in msgspec.json.decode(body, type=TraceList).traces if s.id.startswith(arguments.name)]
    if len(ids) != 1:
        problem = "no trace begins" if not ids else f"{len(ids)} traces begin"
        raise ValueError(f"{problem} with {shlex.quote(arguments.name)}: see `vigie trace list`")
    return ids[0]


def _get_detail(arguments: argparse.Namespace, session_id: str) -> TraceDetail:
    return _decode_detail(_server_client.request(arguments, "GET", f"api/traces/{session_id}"))


def _post_detail(arguments: argparse.Namespace, path: str, body: bytes) -> TraceDetail:
    return _decode_detail(_server_client.request(arguments, "POST", path, body))


def _decode_detail(body: bytes) -> TraceDetail:
    return msgspec.json.decode(body, type=TraceDetail)


def _print_detail(arguments: argparse.Namespace, detail: TraceDetail) -> None:
    if arguments.json:
        builtins: Any = msgspec.to_builtins(detail)
        print(json.dumps(builtins))
    else:
        print(format_detail(detail))


def _split(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _split_pids(text: str) -> list[int]:
    try:
        return [int(pid) for pid in _split(text)]
    except ValueError:
        raise argparse.ArgumentError(None, f"invalid pids {text!r}: use 123,456") from None
