"""The commands; each is one file, imported when called."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "up": "Monitor this machine (server and agent)",
    "demo": "Start a simulated GPU cluster",
    "agent": "Collect this machine's metrics",
    "server": "Store metrics, serve web UI and Prometheus API",
    "nodes": "List, add, remove or join nodes",
    "top": "Show the cluster in the terminal",
    "who": "Show GPU and node allocations",
    "jobs": "List jobs, users and GPUs",
    "job": "Name a job by hand, or end it",
    "events": "List or follow events",
    "gpus": "Release the GPU driver or pause profiling",
    "trace": "Trace jobs across ranks, take stacks",
    "dyno": "Run dynolog's command line",
    "query": "Run a PromQL query",
    "monitor": "Monitor genv environments",
    "publish": "Write Prometheus and Grafana files",
    "users": "Manage accounts and tokens",
    "store": "Verify or back up a data directory",
    "doctor": "Check this machine, suggest fixes",
    "config": "Show settings and their origin",
    "version": "Print the version",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 for a failure, 2 for bad usage."""
    try:
        return _main(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # also while a command is being imported
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader is gone; Python would report it again at exit
        return 0


def _main(given: Sequence[str]) -> int:
    if not given or given[0] in ("-h", "--help"):
        print(_help(), flush=True)
        return 0 if given else 2
    if given[0] == "--version":
        given = ["version", *given[1:]]
    if given[0] not in COMMANDS:
        print(f"vigie: Unknown command {given[0]!r}.{_suggest(given[0])}\n\n{_help()}", file=sys.stderr)
        return 2
    return _run(given[0], given[1:])


def parser_of(name: str) -> argparse.ArgumentParser:
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
        "vigie: monitoring for CPU and GPU clusters\n\n"
        f"usage: vigie COMMAND [--help]\n\n{rows}\n\nexample:\n  vigie up"
    )


def _suggest(word: str) -> str:
    import difflib  # only for the error: it is not small

    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
