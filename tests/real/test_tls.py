"""A server's certificate follows its files while it runs, with certificates that a real openssl made."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import need, output
from tests.real.waiting import until
from tests.server.test_run import Process
from vigie.cli import main
from vigie.server.http.tls import fingerprint


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with two certificates, each with its key in it."""
    home = Path(tmp_path_factory.mktemp("certificates"))
    for name in ("one", "two"):
        command = [
            need("openssl"),
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
        ]
        files = ["-nodes", "-keyout", f"{home}/{name}.key", "-out", f"{home}/{name}.crt"]
        assert output(*command, *files, "-days", "2", "-subj", f"/CN={name}").returncode == 0
        both = (home / f"{name}.crt").read_text() + (home / f"{name}.key").read_text()
        (home / f"{name}.pem").write_text(both)
    return home


def _replace(file: Path, content: str) -> None:
    partial = file.with_suffix(".new")
    partial.write_text(content)
    os.replace(partial, file)


def _connected(address: str) -> http.client.HTTPSConnection:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = http.client.HTTPSConnection(address.removeprefix("https://"), timeout=60, context=context)
    client.connect()
    return client


def _shown(client: http.client.HTTPSConnection) -> str:
    assert isinstance(client.sock, ssl.SSLSocket)
    return f"sha256:{hashlib.sha256(client.sock.getpeercert(True) or b'').hexdigest()}"


def _shown_now(address: str) -> str:
    with contextlib.closing(_connected(address)) as client:
        return _shown(client)


def _asked(client: http.client.HTTPSConnection) -> int:
    client.request("GET", "/healthz")
    answer = client.getresponse()
    answer.read()
    return answer.status


@pytest.fixture
def server(tmp_path: Path, certificates: Path) -> Iterator[Process]:
    file = tmp_path / "shown.pem"
    file.write_text((certificates / "one.pem").read_text())
    running = Process(tmp_path, tmp_path / "data", f"--tls-cert={file}")
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


def test_new_certificate_is_shown_to_new_connections_and_a_broken_one_is_not(
    server: Process, tmp_path: Path, certificates: Path
) -> None:
    file, two = tmp_path / "shown.pem", fingerprint(certificates / "two.crt")
    with contextlib.closing(_connected(server.address)) as old:
        assert _shown(old) == fingerprint(certificates / "one.crt")
        assert _asked(old) == 200
        _replace(file, (certificates / "two.pem").read_text())
        until(lambda: _shown_now(server.address) == two, "the new certificate is shown")
        assert _asked(old) == 200
        mixed = (certificates / "one.crt").read_text() + (certificates / "two.key").read_text()
        for broken in ("garbage", mixed):
            _replace(file, broken)
        _replace(file, (certificates / "two.crt").read_text())  # without its key
        said = iter(server.process.stderr or ())
        assert next(line for line in said if "stays as it was" in line).count(str(file)) == 1
        assert _shown_now(server.address) == two
        assert _asked(old) == 200
        _replace(file, (certificates / "one.pem").read_text())
        one = fingerprint(certificates / "one.crt")
        until(lambda: _shown_now(server.address) == one, "the third certificate is shown")
        assert _asked(old) == 200


def test_certificate_that_is_not_trusted_is_told_from_a_server_that_is_away(
    server: Process, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", "1 + 1", "--server", server.address]) == 1
    said = capsys.readouterr().err
    assert "SSL_CERT_FILE=ca.pem" in said
    assert "is it running?" not in said
    assert main(["query", "1 + 1", "--data", str(server.data)]) == 0
