"""The commands; each is one file, imported when it is called."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "up": "watch this machine: a server, an agent, one address",
    "demo": "show a simulated GPU cluster, with history and incidents",
    "agent": "watch this machine and serve what it measures",
    "server": "keep what is measured, and answer Prometheus's API",
    "nodes": "list the nodes, add or remove one, or let one join",
    "top": "show the cluster in this terminal",
    "who": "say who holds which GPU or node",
    "jobs": "list jobs, whose they are and what they hold",
    "events": "say what happened",
    "gpus": "let go of the GPUs' driver for a while",
    "query": "ask a server in PromQL",
    "publish": "write configuration, rules and dashboards for Prometheus and Grafana",
    "users": "say who may sign in to a server",
    "store": "verify a data directory, or copy it while a server runs",
    "doctor": "say what works here, what does not, why, and what to type",
    "config": "show the effective configuration and where each value came from",
    "version": "print the version",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 for a failure, 2 for bad usage."""
    try:
        return _main(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # it may come while a command is still being imported
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader left; Python would complain once more at exit
        return 0


def _main(given: Sequence[str]) -> int:
    if not given or given[0] in ("-h", "--help"):
        print(_help(), flush=True)
        return 0 if given else 2
    if given[0] == "--version":
        given = ["version", *given[1:]]
    if given[0] not in COMMANDS:
        print(f"vigie: there is no command {given[0]!r}{_nearest(given[0])}\n\n{_help()}", file=sys.stderr)
        return 2
    return _run(given[0], given[1:])


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    module = importlib.import_module(f"vigie.cli.{name}")
    parser = argparse.ArgumentParser(
        prog=f"vigie {name}",
        description=module.__doc__,
        epilog=module.EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return parser


def _run(name: str, arguments: Sequence[str]) -> int:
    module = importlib.import_module(f"vigie.cli.{name}")
    parser = parser_of(name)
    try:
        code: int = module.run(parser.parse_args(arguments))
    except BrokenPipeError:
        raise  # it is an OSError, which is an error to some commands
    except argparse.ArgumentError as error:  # flags that do not go together
        print(f"vigie {name}: {error}", file=sys.stderr)
        return 2
    except tuple(module.ERRORS) as error:
        print(f"vigie {name}: {error}", file=sys.stderr)
        return 1
    return code


def _help() -> str:
    width = max(map(len, COMMANDS)) + 2
    rows = "\n".join(f"  {name:<{width}}{what}" for name, what in COMMANDS.items())
    return (
        "vigie: the lookout for clusters of CPU and GPU machines\n\n"
        f"usage: vigie COMMAND [--help]\n\n{rows}\n\nexample:\n  vigie up"
    )


def _nearest(word: str) -> str:
    import difflib  # only for the error: it is not small

    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return f"; did you mean {near[0]}?" if near else ""
