"""Write the generated reference pages, or with --check tell whether they are fresh."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from vigie.agent import metrics as agent_metrics
from vigie.agent.dialects import dcgm_exporter, moneo
from vigie.agent.events.rules import RULES as CHANGES
from vigie.cli import COMMANDS, parser_of
from vigie.cli.config import toml
from vigie.cli.settings.registry import all_settings
from vigie.model import Metric
from vigie.query.limits import QueryLimits
from vigie.server import metrics as server_metrics
from vigie.server.auth.secrets import Secrets
from vigie.server.http import request_log
from vigie.server.http.openapi import COMMON_ERRORS, build_document
from vigie.server.http.request_log import Traffic
from vigie.server.ingest import link_session as link_session
from vigie.server.maintenance import RetentionConfig
from vigie.server.scrape import appender
from vigie.server.services import ServerConfig, build_services
from vigie.sinks import remote_write
from vigie.sources._kernel_patterns import PATTERNS as KERNEL_LINES
from vigie.sources.core.registry import find_sources
from vigie.sources.core.source import Source
from vigie.sources.core.xids import ROWS as XIDS
from vigie.wire import agent_series, llm_series, triton_series

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
OTHERS: tuple[tuple[str, str, tuple[Metric, ...]], ...] = (
    ("bindings", "Who holds what on the node, as its sources say.", agent_series.BINDING_METRICS),
    ("outcomes", "Which sources give nothing, and why; with every frame.", agent_series.OUTCOME_METRICS),
    (
        "reports",
        "What programs report with `vigie.report`.",
        agent_series.REPORT_METRICS,
    ),
    ("events", "How often what happened on the node.", agent_series.EVENT_METRICS),
    ("link", "What the links to servers say of themselves, with every frame.", agent_series.LINK_METRICS),
    (
        "remote_write",
        "What remote write out says of itself, on the agent's /metrics.",
        remote_write.METRICS,
    ),
    ("node", "What the server adds to each frame of a linked node.", link_session.METRICS),
    ("server", "What the server says of itself, on its /metrics.", server_metrics.METRICS),
    (
        "requests",
        "What the server says of requests over HTTP, on its /metrics.",
        request_log.METRICS,
    ),
    ("access", "What the server says of sign-ins, on its /metrics.", server_metrics.AUTH_METRICS),
    ("queues", "What the server says of its queues, on its /metrics.", server_metrics.QUEUE_METRICS),
    ("links", "What the server says of its links, on its /metrics.", server_metrics.LINK_METRICS),
    (
        "scraping",
        "What the server says of foreign exporters, on its /metrics.",
        server_metrics.SCRAPE_METRICS,
    ),
    ("scrape", "What the server adds to each scrape of a foreign exporter.", appender.METRICS),
)
OTHERS += (
    (
        "triton",
        "Triton's own metrics, relayed from port 8002 with the label `port`; those that dashboards ask for.",
        triton_series.METRICS,
    ),
    (
        "llm",
        "The own metrics of vLLM, SGLang, TGI, trtllm-serve, NIM and Dynamo, relayed with the label `port`; "
        "those that dashboards ask for.",
        llm_series.METRICS,
    ),
    ("inference", "Which GPUs an inference server uses.", agent_series.RELAY_METRICS),
)
MADE = "<!-- Written by `make docs` from the code; edit the code instead. -->"


def metrics_page() -> Iterator[str]:
    """Yield the page of every source and its metrics."""
    sources = find_sources()
    count = sum(len(source.metrics) for source in sources) + len(agent_metrics.METRICS)
    count += sum(len(metrics) for *_, metrics in OTHERS)
    yield f"# Metrics\n\n{MADE}\n"
    yield f"{count} metrics of {len(sources)} sources. A `*` stands for a word that the machine supplies."
    yield "An absent value gives no series: it is never 0.\n"
    for source in sources:
        yield f"## {source.name}\n"
        yield f"{_docstring(source)} {_when(source)}\n"
        yield from _metrics(source.metrics)
    yield "## agent\n\nWhat the agent says of itself.\n"
    yield from _metrics(agent_metrics.METRICS)
    for name, what, metrics in OTHERS:
        yield f"## {name}\n\n{what}\n"
        yield from _metrics(metrics)
    yield from _dialects()


def _dialects() -> Iterator[str]:
    yield "## Moneo's names\n\nOff by default: `--dialects moneo`. All gauges, with the label job_id.\n"
    yield "| name | labels | from | what |\n|---|---|---|---|"
    for alias in moneo.ALIASES:
        yield f"| `{alias.name}` | {', '.join(alias.labels)} | `{alias.ours}` | {alias.help} |"
    for event in moneo.EVENT_ALIASES.values():
        labels = ", ".join((*event.labels, "time_stamp"))
        yield f"| `{event.name}` | {labels} | event `{event.kind}` | {event.help} |"
    yield "\n## dcgm-exporter's own metrics\n\nOff by default: `--dialects dcgm-exporter`. All gauges.\n"
    yield "| name | labels | what |\n|---|---|---|"
    for name, what in dcgm_exporter.HELP.items():
        labels = f"those of `{dcgm_exporter.REASONS}`, window_size_in_ms, {dcgm_exporter.LABEL[name]}"
        yield f"| `{name}` | {labels} | {what} |"
    yield f"| `{dcgm_exporter.OLD_NAME}` | the same | Old name of `{dcgm_exporter.REASONS}`. |\n"


def _docstring(source: Source) -> str:
    text = importlib.import_module(source.read.__module__).__doc__ or ""
    return text.strip().partition("\n\n")[0].replace("\n", " ")


def _when(source: Source) -> str:
    when = "Read at its own interval" if source.slow else "Read at every scrape"
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
    for setting in all_settings(find_sources()):
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
        yield f"## vigie {name}\n"
        for parser in _with_actions(parser_of(name)):
            yield f"```\n{parser.format_help().rstrip()}\n```\n"


def _with_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a command's parser, and those of what it can do, without the examples once more."""
    yield parser
    for argument in parser._actions:
        if isinstance(argument, argparse._SubParsersAction):
            for action in argument.choices.values():
                action.epilog = None
                yield action


def api_page() -> Iterator[str]:
    """Yield the page of everything that a server can be asked over HTTP."""
    yield f"# HTTP API\n\n{MADE}\n"
    yield "The same for programs: `/api/openapi.json` of a server. Who may: the least role;"
    yield "see [who may come in](../how-to/access.md). A request by POST carries its parameters as a form.\n"
    yield "Any route but those for anybody may also answer:\n"
    yield from _answers({str(status): {"description": text} for status, text in COMMON_ERRORS.items()})
    for path, operations in _document()["paths"].items():
        yield f"## {path}\n"
        for method, operation in operations.items():
            yield f"**{method.upper()}** {operation['summary']} Who may: {operation['x-role']}.\n"
            yield from _parameters(operation)
            answers = operation["responses"].items()
            yield from _answers({status: answer for status, answer in answers if not _usual(status, answer)})


def _parameters(operation: dict[str, Any]) -> Iterator[str]:
    rows = [(row["name"], row["description"], row["required"]) for row in operation.get("parameters", ())]
    if rows:
        yield "| parameter | |\n|---|---|"
        yield from (f"| `{name}` | {what}{' Required.' * needed} |" for name, what, needed in rows)
        yield ""
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        fields = ", ".join(f"`{name}`" for name in body["schema"].get("properties", ()))
        yield f"Body: `{kind}`{' with ' * bool(fields)}{fields}.\n"


def _usual(status: str, answer: dict[str, Any]) -> bool:
    return bool(answer["description"] == COMMON_ERRORS.get(int(status)))


def _answers(answers: dict[str, Any]) -> Iterator[str]:
    yield "| status | |\n|---|---|"
    yield from (f"| {status} | {answer['description']} |" for status, answer in answers.items())
    yield ""


def types() -> Iterator[str]:
    """Yield the types of the web UI."""
    from typescript import types_file  # which tests that read the tables above do not need

    return types_file(_document())


@cache
def _document() -> dict[str, Any]:
    return asyncio.run(_build_document())


async def _build_document() -> dict[str, Any]:
    """Return the OpenAPI document of a server that is built for it."""
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as opened:
        data = Path(home)
        secrets = opened.enter_context(contextlib.closing(Secrets(data)))
        plan = ServerConfig("127.0.0.1:0", data, QueryLimits(), RetentionConfig(), {})
        return build_document(build_services(plan, secrets, opened, Traffic()).app.routes)


def events_page() -> Iterator[str]:
    """Yield the page of what the agent tells as events, and of every XID."""
    yield f"# Events of hardware\n\n{MADE}\n"
    yield "## From the kernel's log\n\n| kind | severity | what |\n|---|---|---|"
    for line in KERNEL_LINES:
        what = "see below" if line.kind == "xid" else line.say(defaultdict(lambda: "N")) or "its end"
        yield f"| {line.kind} | {line.severity or 'by its number'} | {what} |"
    yield "\n## From NVIDIA's driver\n\n| kind | severity | what |\n|---|---|---|"
    yield "| xid | by its number | see below; one that the kernel's log tells too is one event |"
    yield "| gpu_lost | critical | the GPU is lost or hangs, until it answers again |"
    yield "| gpus_released | info | the agent let go of the driver: vigie gpus release |"
    yield "| profiling_paused | info | DCGM's profiling counters stand still: vigie gpus pause |"
    yield "\n## From metrics\n\n| kind | severity | metric | what |\n|---|---|---|---|"
    for rule in CHANGES:
        yield f"| {rule.kind} | {rule.severity} | `{rule.metric}` | {rule.what.replace('{by:g}', 'N')} |"
    yield "\n## XIDs of NVIDIA's driver\n"
    yield "| XID | name | severity | meaning | what to do |\n|---|---|---|---|---|"
    for xid in XIDS:
        yield f"| {xid.number} | {xid.name} | {xid.severity} | {xid.meaning} | {xid.action} |"


FILES = {
    REFERENCE / "metrics.md": metrics_page,
    REFERENCE / "events.md": events_page,
    REFERENCE / "configuration.md": config_page,
    REFERENCE / "commands.md": cli_page,
    REFERENCE / "api.md": api_page,
    ROOT / "web" / "src" / "lib" / "types.ts": types,
}


def main() -> int:
    """Write or check every file."""
    os.environ["COLUMNS"] = "100"
    stale = []
    for path, lines in FILES.items():
        text = "\n".join(lines()).rstrip() + "\n"
        if not path.exists() or path.read_text() != text:
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                path.write_text(text)
    if stale and "--check" in sys.argv:
        print(f"not fresh: {', '.join(stale)}; run: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
