"""TLS with certificates that a real openssl made."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import need
from vigie.common.endpoint import Endpoint, TlsOptions
from vigie.common.http_client import HttpClient, UnreachableError


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Clients that leave in the middle are what is tested."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with cert.pem and key.pem for the name peer.test."""
    home = tmp_path_factory.mktemp("tls")
    command = [need("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=peer.test", "-addext", "subjectAltName=DNS:peer.test"]
    command += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=home, check=True, capture_output=True, timeout=60)
    return home


@pytest.fixture(params=[False, True], ids=["anybody", "known clients only"])
def server(request: pytest.FixtureRequest, certificates: Path) -> Iterator[tuple[str, bool]]:
    """Yield the address of a TLS server, and whether it asks for a certificate."""
    server = Server(("127.0.0.1", 0), Page)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    if request.param:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates / "cert.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}", request.param
    server.shutdown()
    server.server_close()
    thread.join()


def _status(url: str, tls: TlsOptions) -> int:
    client = HttpClient(Endpoint(url, tls=tls), seconds=10)
    try:
        return client.request("GET", "/").status
    finally:
        client.close()


def test_peer_is_checked_and_we_are_too(server: tuple[str, bool], certificates: Path) -> None:
    url, asks = server
    ca, key = str(certificates / "cert.pem"), str(certificates / "key.pem")
    us = TlsOptions(ca, ca, key, "peer.test") if asks else TlsOptions(ca, server_name="peer.test")
    assert _status(url, us) == 204
    with pytest.raises(UnreachableError, match="certificate verify failed"):
        _status(url, us._replace(ca_file=""))
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1"):
        _status(url, us._replace(server_name=""))
    assert _status(url, us._replace(ca_file="", server_name="", insecure=True)) == 204
    if asks:
        with pytest.raises(UnreachableError):
            _status(url, us._replace(cert_file="", key_file=""))


def test_missing_files_are_named() -> None:
    for tls in (TlsOptions(ca_file="/nowhere/ca"), TlsOptions(cert_file="/nowhere/cert")):
        with pytest.raises(ValueError, match="/nowhere/"):
            Endpoint("https://127.0.0.1", tls=tls).check()
