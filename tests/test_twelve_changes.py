"""Twelve usual changes, each made in a copy of the tree: how many files it takes, and that it works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

SRC = Path(__file__).parents[1] / "src"

pytestmark = pytest.mark.process


class Edit(NamedTuple):
    """New text before the first occurrence of `before` in a file, or a new file."""

    file: str
    text: str
    before: str = ""


class Change(NamedTuple):
    """What one edits, the most files that it may take, and a program that shows the effect."""

    edits: tuple[Edit, ...]
    max_files: int
    check: str


METRIC = Change(
    (
        Edit(
            "sources/vmstat.py",
            '    untyped("node_vmstat_allocstall_normal", "Direct reclaims since boot."),\n',
            '    untyped("node_vmstat_oom_kill"',
        ),
    ),
    1,
    """
from vigie.sources.core.host import Host, HostRoots
from vigie.sources.vmstat import SOURCE
(root / "vmstat").write_text("allocstall_normal 7\\n")
read = {metric.name: value for metric, _, value in SOURCE.read(Host(HostRoots(proc=str(root))))}
assert read == {"node_vmstat_allocstall_normal": 7}, read
""",
)

SOURCE = Change(
    (
        Edit(
            "sources/uptime.py",
            '''"""How long the machine has been up, from /proc/uptime."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (UPTIME := gauge("vigie_uptime_seconds", "How long the machine has been up."),)


def read(host: Host) -> Iterator[Sample]:
    yield UPTIME, (), float(host.proc.read("uptime").split()[0])


SOURCE = Source("uptime", METRICS, read)
''',
        ),
    ),
    1,
    """
import io, contextlib
from vigie.cli import main
(root / "uptime").write_text("42.5 1.0\\n")
out = io.StringIO()
with contextlib.redirect_stdout(out):
    assert main(["agent", "--once", "--proc", str(root), "--sources", "uptime"]) == 0
assert "vigie_uptime_seconds 42.5" in out.getvalue(), out.getvalue()
""",
)

FINDING = Change(
    (
        Edit(
            "findings/swap_full.py",
            '''"""Swap is nearly full."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    title="Swap nearly full",
    severity=WARNING,
    summary="Swap on {node} has {value} free.",
    action="Find the process that needs memory.",
    query="node_memory_SwapFree_bytes / node_memory_SwapTotal_bytes < 0.05",
    unit="ratio",
    alert_after="10m",
)
''',
        ),
    ),
    1,
    """
from vigie.findings.core.registry import find_finding
from vigie.publishing.alert_rules import ALERTS
assert find_finding("swap-full").title == "Swap nearly full"
assert any("SwapFree" in rule.promql for rule in ALERTS), ALERTS
""",
)

PANEL = Change(
    (
        Edit(
            "dashboards/vigie.py",
            '    build_panel("Agents linked", "How many.", "count", "count(vigie_agent_build_info)"),\n',
            '    build_panel(\n        "Versions",',
        ),
    ),
    1,
    """
from vigie.dashboards import find_dashboard
panels = [panel.title for section in find_dashboard("itself").sections for panel in section.panels]
assert "Agents linked" in panels, panels
""",
)

DASHBOARD = Change(
    (
        Edit(
            "dashboards/swap.py",
            '''"""Swap of every node."""

from __future__ import annotations

from vigie.dashboards._build import build_panel
from vigie.model.dashboard import Dashboard, Section

_FREE = build_panel("Swap free", "Little is left.", "bytes", "node_memory_SwapFree_bytes", "{{instance}}")

DASHBOARD = Dashboard("swap", "Swap", "Swap of every node.", (Section("Swap", (_FREE,)),))
''',
        ),
    ),
    1,
    """
from vigie.dashboards import all_dashboards
assert "swap" in [board.slug for board in all_dashboards() if board.listed]
""",
)

COMMAND = Change(
    (
        Edit(
            "cli/hello.py",
            '''"""Say hello."""

from __future__ import annotations

import argparse

EXAMPLE = "example:\\n  vigie hello"
ERRORS: tuple[type[Exception], ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="you", help="whom to greet")


def run(arguments: argparse.Namespace) -> int:
    print(f"hello, {arguments.name}")
    return 0
''',
        ),
        Edit("cli/__init__.py", '    "hello": "say hello",\n', '    "version": '),
    ),
    2,
    """
import io, contextlib
from vigie.cli import main
out = io.StringIO()
with contextlib.redirect_stdout(out):
    assert main(["hello", "--name", "node"]) == 0
assert out.getvalue() == "hello, node\\n", out.getvalue()
""",
)

BINDING_FACT = Change(
    (
        Edit(
            "sources/queue.py",
            '''"""Who holds a GPU, with the queue of the job."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (QUEUED := gauge("vigie_queue_jobs", "Jobs that hold a GPU."),)


def read(host: Host) -> Iterator[Sample]:
    host.bind("gpu:0", "job", "4711", user="ada", queue="gold")
    yield QUEUED, (), 1.0


SOURCE = Source("queue", METRICS, read)
''',
        ),
    ),
    2,
    """
from vigie.model import Frame
from vigie.agent.bindings import BindingTracker
from vigie.agent.source_reader import SourceReader
from vigie.common.clock import SystemClock
from vigie.sources.core.host import Host
from vigie.sources.queue import SOURCE
seen = []
class Listener:
    def replace_held(self, changes, held): seen.extend(held)
reader = SourceReader(SOURCE, Host(), SystemClock())
reader.read()
BindingTracker([reader], [Listener()])(Frame(1000, ()))
assert [binding.facts["queue"] for binding in seen] == ["gold"], seen
""",
)

PROMQL_FUNCTION = Change(
    (
        Edit("query/functions/instant.py", '    "cbrt": np.cbrt,\n', '    "sqrt": np.sqrt,'),
        Edit(
            "query/parser/grammar.py",
            '    [Function("cbrt", [ValueType.Vector], ValueType.Vector)] +\n',
            '    [Function("holt_winters"',
        ),
    ),
    2,
    """
from vigie.query.engine import Engine
from vigie.simulation.memory_storage import MemoryStorage
(series,) = Engine(MemoryStorage()).instant("cbrt(vector(27))", 0).series
assert series.values.tolist() == [3.0], series
""",
)

SETTING = Change(
    (
        Edit(
            "cli/settings/retention.py",
            '    Setting("retention", "snapshots_days", 7.0, "Retention of copies.", DAYS, COMMANDS),\n',
            '    Setting("retention", "events_days"',
        ),
    ),
    1,
    """
import os
from vigie.cli import parser_of
from vigie.cli.settings import flags
def resolve(*given):
    return flags.resolve(parser_of("server").parse_args(given)).values["retention.snapshots_days"]
file = root / "vigie.toml"
file.write_text("[retention]\\nsnapshots_days = 3\\n")
assert resolve() == (7.0, "default")
assert resolve(f"--config={file}") == (3.0, str(file))
os.environ["VIGIE_RETENTION_SNAPSHOTS_DAYS"] = "4"
assert resolve(f"--config={file}") == (4.0, "$VIGIE_RETENTION_SNAPSHOTS_DAYS")
assert resolve("--snapshots-days=5") == (5.0, "flag")
""",
)

SINK = Change(
    (
        Edit(
            "sinks/counting.py",
            '''"""Counts frames in a file."""

from __future__ import annotations

from pathlib import Path

from vigie.common.config import Setting, text
from vigie.model import Frame
from vigie.sinks.core.sink import OpenSink, SettingValues, Sink


def _open(values: SettingValues, node: str, data: Path) -> OpenSink | None:
    file = values["counting.file"]

    def write(frame: Frame) -> None:
        with open(file, "a") as counted:
            counted.write(f"{node} {frame.time_ms}\\n")

    return OpenSink("counting", write) if file else None


SINK = Sink((Setting("counting", "file", "", "File to count frames in.", text, ("agent",), "count"),), _open)
''',
        ),
    ),
    1,
    """
from vigie.agent.collector import Collector
from vigie.cli import parser_of
from vigie.cli.agent import _build_config
from vigie.cli.settings import flags
from vigie.model import Frame
settings = flags.resolve(parser_of("agent").parse_args([f"--count={root}/frames", f"--data={root}"]))
(sink,) = _build_config(settings, Collector([]), "").sinks
sink(Frame(1000, ()))
sink.close()
assert (root / "frames").read_text().endswith(" 1000\\n")
""",
)

ASK = """
import asyncio
from starlette.applications import Starlette
from vigie.server.http.openapi import build_document
def request(routes, path):
    sent = []
    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}
    async def send(message):
        sent.append(message)
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    scope |= {"headers": [], "http_version": "1.1", "scheme": "http", "server": ("localhost", 80)}
    asyncio.run(Starlette(routes=routes)(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)
"""

ROUTE = Change(
    (
        Edit(
            "wire/api/resources.py",
            '''class DashboardCount(Struct, frozen=True):
    """How many dashboards there are."""

    count: int


''',
            "class DashboardList(",
        ),
        Edit(
            "server/api/dashboards.py",
            "from vigie.wire.api.resources import DashboardCount\n",
            "from vigie.wire.api.resources import",
        ),
        Edit(
            "server/api/dashboards.py",
            """        ApiRoute("/api/dashboard_count", _count, Operation("Count them.", DashboardCount)),
""",
            '        ApiRoute("/api/dashboards",',
        ),
        Edit(
            "server/api/dashboards.py",
            """async def _count(request: Request) -> Response:
    return respond(msgspec.json.encode(DashboardCount(len(all_dashboards()))), request)


""",
            "async def _list(",
        ),
    ),
    2,
    ASK
    + """
from vigie.dashboards import all_dashboards
from vigie.server.api.dashboards import dashboard_routes
status, body = request(dashboard_routes(), "/api/dashboard_count")
assert (status, body) == (200, b'{"count":%d}' % len(all_dashboards())), (status, body)
document = build_document(dashboard_routes())
assert "/api/dashboard_count" in document["paths"]
assert document["components"]["schemas"]["DashboardCount"]["properties"]["count"]["type"] == "integer"
""",
)

PAGE = Change(
    (
        Edit(
            "wire/api/pages.py",
            '    WebPage("/racks", "racks", "Racks", "every rack"),\n',
            '    WebPage("/nodes", "nodes"',
        ),
        Edit(
            "wire/api/pages.py",
            '''class RacksPage(Page, frozen=True):
    """Racks, by name."""

    racks: list[str]


''',
            "class JobsPage(",
        ),
        Edit(
            "server/pages/racks_page.py",
            '''"""The Racks page."""

from __future__ import annotations

from vigie.server.pages.snapshot import Snapshot
from vigie.wire.api.pages import RacksPage
from vigie.wire.api.rows import Verdict


def build_racks_page(snapshot: Snapshot, verdict: Verdict) -> RacksPage:
    return RacksPage(snapshot.at_ms, verdict, sorted({name.partition("-")[0] for name in snapshot.nodes}))
''',
        ),
        Edit(
            "server/api/pages.py",
            "from vigie.server.pages.racks_page import build_racks_page\n"
            "from vigie.wire.api.pages import RacksPage\n",
            "from vigie.server.pages.",
        ),
        Edit(
            "server/api/pages.py",
            '            _route("pages/racks", self._racks, "The Racks page.", RacksPage),\n',
            '            _route("pages/nodes", self._nodes',
        ),
        Edit(
            "server/api/pages.py",
            """    async def _racks(self, request: Request) -> Response:
        snapshot, redactor, _ = await self._view(request)
        verdict = build_verdict(*summarize_incidents(IncidentRows(snapshot, redactor).all()))
        return _respond(build_racks_page(snapshot, verdict), request)

""",
            "    async def _nodes(",
        ),
        Edit(
            "../../web/src/pages/racks.tsx",
            """import { usePage } from "../lib/api";
import type { RacksPage } from "../lib/types";

export default function Racks() {
  const page = usePage<RacksPage>("racks");
  return <p>{page.value?.racks.join(", ")}</p>;
}
""",
        ),
    ),
    4,
    ASK
    + """
import vigie.server.http.routing
from vigie.server.api.pages import PageRoutes
from vigie.server.web_app import web_app_routes
routes = PageRoutes(None).routes()
document = build_document(routes)
assert "/api/pages/racks" in document["paths"]
assert document["components"]["schemas"]["RacksPage"]["properties"]["racks"]["type"] == "array"
assert "/racks" in [route.path for route in web_app_routes()]
""",
)

CHANGES = {
    "metric": METRIC,
    "source": SOURCE,
    "finding": FINDING,
    "panel": PANEL,
    "dashboard": DASHBOARD,
    "setting": SETTING,
    "sink": SINK,
    "CLI command": COMMAND,
    "binding fact": BINDING_FACT,
    "PromQL function": PROMQL_FUNCTION,
    "route": ROUTE,
    "page": PAGE,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_takes_few_files_and_works(change: Change, tmp_path: Path) -> None:
    tree = tmp_path / "src"
    shutil.copytree(SRC, tree, ignore=shutil.ignore_patterns("__pycache__", "page"))
    for edit in change.edits:
        path = tree / "vigie" / edit.file
        text = path.read_text() if edit.before else ""
        assert path.exists() == bool(edit.before), path
        assert edit.before in text, f"{edit.file} has no {edit.before!r}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(edit.before, edit.text + edit.before, 1) if edit.before else edit.text)
    assert len({edit.file for edit in change.edits}) <= change.max_files
    (tmp_path / "root").mkdir()
    program = f"from pathlib import Path\nroot = Path({str(tmp_path / 'root')!r})\n{change.check}"
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
