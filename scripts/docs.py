"""Write the generated reference pages, or with --check tell whether they are fresh."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from vigie.agent import own
from vigie.agent.link import own as link_own
from vigie.cli import COMMANDS, parser_of
from vigie.cli._settings import every
from vigie.cli.config import toml
from vigie.model import Metric
from vigie.server.link import own as server_link_own
from vigie.server.link import session as link_session
from vigie.sinks import _remote_write_metrics
from vigie.sources._registry import find
from vigie.sources._source import Source

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
OTHERS: tuple[tuple[str, str, tuple[Metric, ...]], ...] = (
    ("link", "What the links to servers say of themselves, with every frame.", link_own.METRICS),
    (
        "remote_write",
        "What remote write out says of itself, on the agent's /metrics.",
        _remote_write_metrics.METRICS,
    ),
    ("node", "What the server adds to each frame of a linked node.", link_session.METRICS),
    ("links", "What the server says of its links, on its /metrics.", server_link_own.METRICS),
)
MADE = "<!-- Written by `make docs` from the code; edit the code instead. -->"


def metrics_page() -> Iterator[str]:
    """Yield the page of every source and its metrics."""
    sources = find()
    count = sum(len(source.metrics) for source in sources) + len(own.METRICS)
    count += sum(len(metrics) for *_, metrics in OTHERS)
    yield f"# Metrics\n\n{MADE}\n"
    yield f"{count} metrics of {len(sources)} sources. A `*` stands for a word that the machine supplies."
    yield "An absent value gives no series: it is never 0.\n"
    for source in sources:
        yield f"## {source.name}\n"
        yield f"{_docstring(source)} {_when(source)}\n"
        yield from _metrics(source.metrics)
    yield "## agent\n\nWhat the agent says of itself.\n"
    yield from _metrics(own.METRICS)
    for name, what, metrics in OTHERS:
        yield f"## {name}\n\n{what}\n"
        yield from _metrics(metrics)


def _docstring(source: Source) -> str:
    text = importlib.import_module(source.read.__module__).__doc__ or ""
    return text.strip().partition("\n\n")[0].replace("\n", " ")


def _when(source: Source) -> str:
    when = "Read at its own cadence" if source.slow else "Read at every scrape"
    if source.every:
        when += f", by the agent itself every {source.every:g} s at most"
    return when + ("." if source.default else f"; off unless asked for: `--with-sources {source.name}`.")


def _metrics(metrics: Iterable[Metric]) -> Iterator[str]:
    yield "| name | kind | unit | labels | what |\n|---|---|---|---|---|"
    for metric in metrics:
        labels = ", ".join(metric.labels)
        yield f"| `{metric.name}` | {metric.kind} | {metric.unit} | {labels} | {metric.help} |"
    yield ""


def config_page() -> Iterator[str]:
    """Yield the page of every setting at its default."""
    yield f"# Configuration\n\n{MADE}\n"
    yield "One TOML file: `/etc/vigie/vigie.toml` as root, else `$XDG_CONFIG_HOME/vigie/vigie.toml`, or"
    yield "`--config FILE`. Flags win over environment variables, those over the file. Unknown keys are"
    yield "errors. `vigie config show` prints every effective value and where it came from.\n"
    yield "```toml"
    section = None
    for setting in every(find()):
        if setting.section != section:
            section = setting.section
            yield f"[{section}]"
        yield f"# {setting.help} (${setting.variable})"
        yield f"{setting.name} = {toml(setting.default)}\n"
    yield "```"


def cli_page() -> Iterator[str]:
    """Yield the page of every command's help."""
    yield f"# Commands\n\n{MADE}\n"
    for name in COMMANDS:
        yield f"## vigie {name}\n\n```\n{parser_of(name).format_help().rstrip()}\n```\n"


PAGES = {"metrics.md": metrics_page, "configuration.md": config_page, "commands.md": cli_page}


def main() -> int:
    """Write or check every page."""
    os.environ["COLUMNS"] = "100"
    stale = []
    for name, page in PAGES.items():
        path, text = REFERENCE / name, "\n".join(page()).rstrip() + "\n"
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text)
    if stale and "--check" in sys.argv:
        print(f"not fresh: {', '.join(stale)} in docs/reference; run: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
