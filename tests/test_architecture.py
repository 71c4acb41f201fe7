"""What the tree promises, checked by reading it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from vigie.agent import metrics as agent_metrics
from vigie.sources.core.registry import load_builtin

SRC = Path(__file__).parents[1] / "src" / "vigie"
STANDALONE = [path for name in ("model", "sources", "workload") for path in SRC.glob(f"{name}/**/*.py")]


MODULES = {
    ".".join(("vigie", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in SRC.rglob("*.py")
}
# What each package may import of the others; `vigie` itself holds the version. Layers are in pyproject.toml.
ALLOWED = {
    "model": set(),
    "sources": {"model"},
    "workload": {"model", "sources.core"},
    "common": {"model"},
    "wire": {"model"},
    "dashboards": {"model"},
    "findings": {"model"},
    "views": {"model", "common", "wire"},
    "sinks": {"model", "common", "wire", "vigie"},
    "query": {"model", "common"},
    "store": {"model", "query"},
}

PENDING = {  # modules that are being moved apart
    "vigie.server.api.prometheus.status",
    "vigie.simulation.cluster.metrics.columns",
}


def _imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, those under TYPE_CHECKING and inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


@cache
def _own_imports() -> list[tuple[str, str]]:
    return sorted(
        {
            (name, to)
            for name, path in MODULES.items()
            for to in _imports(path)
            if to.partition(".")[0] == "vigie"
        }
    )


def _private_owner(module: str) -> str | None:
    """Return the package that alone may import a module with an underscore in its path."""
    parts = module.split(".")
    private = [i for i, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
    return ".".join(parts[: private[0]]) if private else None


def test_no_package_imports_a_private_module_of_another() -> None:
    imports = [(name, to, _private_owner(to)) for name, to in _own_imports() if name not in PENDING]
    assert [(a, b) for a, b, owner in imports if owner and not f"{a}.".startswith(f"{owner}.")] == []


def _units(one: str, other: str) -> tuple[str, str] | None:
    """Return the two files or folders, side by side in one folder, that two modules belong to."""
    mine, theirs = one.split("."), other.split(".")
    same = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
    if same is None:  # a package and what is inside it
        return None
    return ".".join(mine[: same + 1]), ".".join(theirs[: same + 1])


def test_no_two_files_or_folders_side_by_side_import_each_other() -> None:
    imports = [each for each in _own_imports() if PENDING.isdisjoint(each)]
    pairs = {pair for name, to in imports if (pair := _units(name, to))}
    assert sorted(pair for pair in pairs if pair[::-1] in pairs and pair[0] < pair[1]) == []


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_those_it_stands_on(package: str) -> None:
    own = f"vigie.{package}."
    for name, to in _own_imports():
        if name not in PENDING and f"{name}.".startswith(own) and not f"{to}.".startswith(own):
            below = to.removeprefix("vigie.")
            assert any(f"{below}.".startswith(f"{allowed}.") for allowed in ALLOWED[package]), (name, to)


STARTS = {
    "command.py": "Slurm answers through its own commands; whoever runs them has a deadline and a limit here",
    "_journal.py": "the journal's format is journalctl's own affair",
    "clients.py": "an embedded DCGM engine must not live in the agent",
}


@pytest.mark.parametrize("path", STANDALONE, ids=lambda path: path.name)
def test_what_is_sent_to_bare_hosts_needs_only_the_standard_library(path: Path) -> None:
    for module in _imports(path):
        top = module.partition(".")[0]
        assert top in {*sys.stdlib_module_names, "vigie"}
        assert top != "subprocess" or path.name in STARTS, "a source reads files; it starts nothing"


def test_no_file_outgrows_its_job() -> None:
    long = {str(path): n for path in SRC.rglob("*.py") if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}


def test_every_metric_is_declared_once_with_a_sentence_and_valid_names() -> None:
    metrics = [metric for source in load_builtin() for metric in source.metrics] + list(agent_metrics.METRICS)
    # The very same row may stand in two sources: GPUs of every vendor give the neutral family.
    names = [metric.name for metric in {id(metric): metric for metric in metrics}.values()]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    for metric in metrics:
        assert metric.help.endswith("."), metric
        assert metric.help[0].isupper() or metric.help[0].isdigit() or metric.help[0] == "*", metric
        assert metric.name.replace("*", "x").isidentifier()
        assert all(label.isidentifier() for label in metric.labels)
        assert metric.kind in ("gauge", "counter", "untyped", "info", "histogram", "summary")


def test_our_own_names_follow_the_rules_that_conventional_ones_may_break() -> None:
    for metric in [m for source in load_builtin() for m in source.metrics] + list(agent_metrics.METRICS):
        if metric.name.startswith("vigie_"):
            assert metric.name.endswith("_total") == (metric.kind == "counter"), metric


def test_source_cadence_lets_no_table_travel_less_often_than_every_two_minutes() -> None:
    assert [source.name for source in load_builtin() if source.every > 120] == []


# Tests of the whole: against real peers, in a browser, of recorded machines, and of the tree itself.
OF_THE_WHOLE = ("real", "web", "machines", "")


def test_every_test_module_names_the_source_module_that_it_tests() -> None:
    """tests/a/test_b.py or test_b_aspect.py is for a/b; a folder may also stand for its package or module."""
    tests = Path(__file__).parent
    strangers = []
    for path in tests.rglob("test_*.py"):
        folder = path.relative_to(tests).parent
        if (folder.parts or ("",))[0] in OF_THE_WHOLE or (SRC / folder).with_suffix(".py").is_file():
            continue
        modules = {one.stem.lstrip("_") for one in (SRC / folder).glob("[!.]*") if one.stem != "__init__"}
        words = path.stem.split("_")[1:]
        names = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
        if not names & (modules | {folder.name}):
            strangers.append(str(path.relative_to(tests)))
    assert strangers == []
