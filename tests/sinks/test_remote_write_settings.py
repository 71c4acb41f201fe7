from __future__ import annotations

from pathlib import Path

import pytest

from tests.sinks.peer import Peer
from vigie.cli import main, parser_of
from vigie.cli.settings import flags
from vigie.common.config import ConfigError
from vigie.common.endpoint import Secret, TlsOptions
from vigie.model import Frame, Table, gauge
from vigie.sinks.remote_write import SINK, read_endpoint, read_options

FILE = """[remote_write]
url = "https://me:sesame@peer/push"
external_labels = ["cluster=c1", "site=a=b"]
headers = ["X-Scope-OrgID: one"]
token_file = "/etc/token"
ca_file = "/etc/ca"
insecure = true
queue_megabytes = 2
"""


def settings(tmp_path: Path, text: str) -> flags.Settings:
    (tmp_path / "vigie.toml").write_text(text)
    arguments = parser_of("agent").parse_args([f"--config={tmp_path}/vigie.toml"])
    return flags.resolve(arguments)


def test_file_says_where_and_how(tmp_path: Path) -> None:
    found = settings(tmp_path, FILE)
    target = read_endpoint(found.effective)
    assert target.name == "https://me:***@peer/push"
    assert target.headers == (("X-Scope-OrgID", "one"),)
    assert target.token == Secret("/etc/token", "VIGIE_REMOTE_WRITE_TOKEN")
    assert target.tls == TlsOptions("/etc/ca", insecure=True)
    options = read_options(found.effective)
    assert options.external_labels == (("cluster", "c1"), ("site", "a=b"))
    assert (options.queue_bytes, options.batch_samples) == (2_000_000, 2000)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_config_show_hides_a_password(
    tmp_path: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vigie.toml").write_text(FILE)
    assert main(["config", "show", f"--config={tmp_path}/vigie.toml", *form]) == 0
    said = capsys.readouterr().out
    assert "https://me:***@peer/push" in said
    assert "sesame" not in said


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ('headers = ["X-Scope-OrgID"]', "X-Scope-OrgID: one"),
        ('headers = ["A: b\\r\\nC: d"]', "X-Scope-OrgID: one"),
        ('external_labels = ["cluster"]', "cluster=c1"),
        ('insecure = "perhaps"', "true or false"),
        ('url = "me:sesame@peer"', "http://"),
        ("queue_megabytes = 0", "between 1 and"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_cure(tmp_path: Path, line: str, cure: str) -> None:
    with pytest.raises(ConfigError, match=cure):
        settings(tmp_path, f"[remote_write]\n{line}\n")


def test_a_port_is_appended_to_the_instance(tmp_path: Path) -> None:
    with Peer() as peer:
        text = f'[remote_write]\nurl = "{peer.url}"\ninstance_port = 9100\nbatch_seconds = 0\n'
        opened = SINK.open(settings(tmp_path, text).effective, "n1", tmp_path)
        assert opened
        opened.write(Frame(1000, ((Table("t", 1, ((gauge("node_load1", ""), ()),)), (1.0,)),)))
        peer.wait(lambda: bool(peer.values(instance="n1:9100")))
        opened.close()
