"""`vigie publish` as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.publishing.conftest import Says
from vigie.cli import main
from vigie.common.endpoint import Endpoint


def _publish(root: Path, target: Endpoint, *flags: str) -> int:
    return main(["publish", str(root), f"--server={target.url}", f"--data={root}-data", *flags])


def test_each_file_is_named_as_it_is_written_and_not_again(
    tmp_path: Path, says: tuple[Says, Endpoint], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _publish(tmp_path / "out", says[1]) == 0
    said = capsys.readouterr().out
    assert f"wrote {tmp_path}/out/prometheus/prometheus.yml\n" in said
    assert f"docker compose -f {tmp_path}/out/compose.yml up -d\n" in said
    assert (tmp_path / "out" / "credentials" / "grafana-admin").is_file()
    assert said.endswith(f"cat {tmp_path}/out/credentials/grafana-admin\n")
    assert _publish(tmp_path / "out", says[1]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/out: up to date\n"
    assert _publish(tmp_path / "out", says[1], "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"written": [], "removed": [], "foreign": []}


def test_file_of_somebody_else_is_left_alone_and_is_a_failure(
    tmp_path: Path, says: tuple[Says, Endpoint], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "compose.yml").write_text("mine")
    assert _publish(tmp_path, says[1]) == 1
    assert "left alone, as it is not what was published there: compose.yml; see --overwrite" in caplog.text
    assert (tmp_path / "compose.yml").read_text() == "mine"
    assert _publish(tmp_path, says[1], "--overwrite") == 0
    assert "services:" in (tmp_path / "compose.yml").read_text()


def test_agent_whose_token_nobody_gave_is_named(
    tmp_path: Path, says: tuple[Says, Endpoint], caplog: pytest.LogCaptureFixture
) -> None:
    token = tmp_path / "token"
    token.write_text("t\n")
    token.chmod(0o600)
    assert _publish(tmp_path / "out", says[1]) == 0
    assert "no scrape token is known for n1" in caplog.text
    caplog.clear()
    assert _publish(tmp_path / "out", says[1], f"--scrape-tokens={token}") == 0
    assert caplog.text == ""
    assert (tmp_path / "out" / "credentials" / "agents").read_text() == "t\n"


def test_more_nodes_without_a_port_than_can_be_asked_for_are_left_out_and_told(
    tmp_path: Path, says: tuple[Says, Endpoint], caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "out" / "prometheus" / "prometheus.yml"
    assert _publish(tmp_path / "out", says[1], "--federate=2") == 0
    assert "/federate" in config.read_text()
    assert _publish(tmp_path / "out", says[1], "--federate=1") == 0
    assert "2 nodes have no port for Prometheus" in caplog.text
    assert "/federate" not in config.read_text()


def test_token_that_others_can_read_is_refused(
    tmp_path: Path, says: tuple[Says, Endpoint], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "token").chmod(0o644)
    assert _publish(tmp_path / "out", says[1], f"--token-file={tmp_path}/token") == 1
    assert "chmod 600" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--server=http://127.0.0.1:1"], "Cannot reach the server"),
        (["--server=nowhere"], "should be a URL such as"),
        (["--address=head"], "--address 'head' should be an address such as"),
        (["--ca-file=/nonexistent"], "no certificates to trust"),
    ],
)
def test_trouble_is_told_in_one_line(
    flags: list[str],
    why: str,
    tmp_path: Path,
    says: tuple[Says, Endpoint],
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = "https://127.0.0.1:1" if "--ca-file=/nonexistent" in flags else says[1].url
    assert main(["publish", str(tmp_path / "out"), f"--server={url}", f"--data={tmp_path}", *flags]) == 1
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1
