"""vigie top in a terminal, on the demo: sizes, keys, a lost server, and the terminal as it was."""

from __future__ import annotations

import contextlib
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.programs import free_port, running, wait_for

from tests.views.terminals import PATIENCE, Terminal, inside
from vigie.views.terminal.screen import ENTER, LEAVE

pytestmark = pytest.mark.process

VIGIE = [sys.executable, "-m", "vigie"]
NOW = "2026-11-01T12:00:00Z"
SIZES = [(80, 24), (200, 60)]


@contextlib.contextmanager
def demo(port: int, data: Path) -> Iterator[int]:
    flags = [f"--listen=127.0.0.1:{port}", f"--now={NOW}", "--nodes=6", "--history=20m", f"--data={data}"]
    with running([*VIGIE, "demo", *flags], port, "/", patience=PATIENCE):
        wait_for(port, "/api/pages/cluster")
        yield port


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with demo(free_port(), tmp_path_factory.mktemp("demo")) as listening:
        yield listening


def top(port: int) -> list[str]:
    return [*VIGIE, "top", "--every=1", f"--server=http://127.0.0.1:{port}"]


def given_back(terminal: Terminal) -> bool:
    terminal.read(0.2)
    before, _, after = terminal.written.partition(ENTER)
    return LEAVE in after and LEAVE not in before and termios.tcgetattr(terminal.theirs) == terminal.mode


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_cluster_node_gpu_and_job_are_a_key_away(port: int, columns: int, rows: int) -> None:
    terminal = Terminal(columns, rows)
    with inside(terminal, top(port)) as process:
        text = terminal.until("GPUs by holder")
        assert "GPUs held" in text
        assert "Needs attention" in text
        assert "gpu01 AAAAAAAA" in text
        terminal.press("m")
        terminal.until("GPUs by busy")
        terminal.press("\t\x1b[C\x1b[D\r")
        terminal.until("Node gpu01")
        terminal.until("gpu01:7")
        terminal.press("\r")
        terminal.until("GPU gpu01:0")
        terminal.press("\x1b")
        terminal.until("Node gpu01")
        terminal.press("\x1b")
        terminal.until("GPUs by busy")
        terminal.press("\t\r")
        terminal.until("Job 4211")
        terminal.until("What it makes of its GPUs")
        terminal.press("\x1b[Z")
        terminal.until("Ranks")
        terminal.press("e")
        terminal.until("What was found")
        terminal.press("?")
        terminal.until("Keys")
        terminal.press("q")
        assert process.wait(PATIENCE) == 0
        assert given_back(terminal)


def test_it_follows_the_size_of_the_window(port: int) -> None:
    terminal = Terminal(80, 24)
    with inside(terminal, top(port)) as process:
        terminal.until("GPUs by holder")
        for columns, rows, last in [
            (200, 60, "q quit"),
            (40, 12, "arrows choose"),
            (8, 4, "arrows"),
            (1, 1, "…"),
        ]:
            terminal.resize(columns, rows)
            terminal.until(last, at_bottom=True)
        terminal.resize(80, 24)
        assert "GPUs by holder" in terminal.until("gpu01 AAAAAAAA")
        terminal.press("q")
        assert process.wait(PATIENCE) == 0


def test_filter_is_typed_at_the_bottom(port: int) -> None:
    terminal = Terminal(80, 24)
    with inside(terminal, top(port)):
        terminal.until("gpu01 AAAAAAAA")
        terminal.press("/gpu06")
        terminal.until("gpu01 AAAAAAAA", there=False)
        assert "gpu06 " in terminal.text()
        terminal.press("\x1b")
        terminal.until("gpu01 AAAAAAAA")


def test_lost_server_is_said_and_heals(tmp_path: Path) -> None:
    port = free_port()
    terminal = Terminal(80, 24)
    with contextlib.ExitStack() as stack:
        with demo(port, tmp_path / "first"):
            stack.enter_context(inside(terminal, top(port)))
            terminal.until("gpu01 AAAAAAAA")
        text = terminal.until("no answer since")
        assert "Connection refused" in text
        assert "gpu01 AAAAAAAA" in text
        with demo(port, tmp_path / "second"):
            assert "gpu01 AAAAAAAA" in terminal.until("no answer since", there=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_terminal_is_given_back_when_it_is_ended(port: int, number: signal.Signals) -> None:
    terminal = Terminal(80, 24)
    with inside(terminal, top(port)) as process:
        terminal.until("GPUs by holder")
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
        assert given_back(terminal)


def test_ctrl_c_ends_it_with_the_terminal_as_it_was(port: int) -> None:
    terminal = Terminal(80, 24)
    with inside(terminal, top(port)) as process:
        terminal.until("GPUs by holder")
        terminal.press("\x03")
        assert process.wait(PATIENCE) == 130
        assert given_back(terminal)


def test_terminal_is_given_back_when_something_breaks() -> None:
    terminal = Terminal(80, 24)
    broken = (
        "from vigie.views.terminal.styled_text import TerminalStyle\n"
        "from vigie.views.terminal.screen import Screen\n"
        "with Screen(TerminalStyle()): 1 / 0"
    )
    with inside(terminal, [sys.executable, "-c", broken]) as process:
        assert process.wait(PATIENCE) == 1
        assert given_back(terminal)
        assert b"ZeroDivisionError" in terminal.written.partition(LEAVE)[2]
