from __future__ import annotations

import os
import socket
from pathlib import Path

from vigie.common.listen import port_holder, port_owners


def test_holder_of_a_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert port_holder(taken.getsockname()[1]).endswith(f"(pid {os.getpid()})")


def test_owner_of_a_port_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert port_owners(taken.getsockname()[1]) == {os.geteuid()}
    assert port_owners(70_000) == set()


def test_holder_that_cannot_be_seen_is_another_process(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text("header\n 0: 0100007F:2645 00000000:0000 0A 0 0 0 0 0 4242 1\n")
    (tmp_path / "77").mkdir()
    assert port_holder(0x2645, tmp_path) == "another process"
