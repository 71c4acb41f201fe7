"""A real nginx on the same machine, and real certificates: nobody gets in by coming through a proxy."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bench.programs import free_port, running

from tests.real.conftest import need, output
from tests.server.route_table import TABLE
from tests.server.serving import Said
from tests.server.test_run import Process
from vigie.cli import main
from vigie.server.http.tls import fingerprint

OPEN = {"/healthz", "/readyz", "/login", "POST /api/login"}
PASSWORD = "from a file"
# As people write them, from the shortest on.
LOCATIONS = {
    "as short as can be": "location / { proxy_pass BACKEND; }",
    "with the Host": "location / { proxy_pass BACKEND; proxy_http_version 1.1; proxy_set_header Host $host;}",
    "with the usual headers": """location / {
        proxy_pass BACKEND; proxy_http_version 1.1;
        proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }""",
    "for WebSockets": """location / {
        proxy_pass BACKEND; proxy_http_version 1.1; proxy_set_header Host $http_host;
        proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
    }""",
}
NGINX = """
daemon off; pid HOME/nginx.pid; error_log HOME/error.log; worker_processes 1; USER
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path HOME/body; proxy_temp_path HOME/proxy; fastcgi_temp_path HOME/fastcgi;
  uwsgi_temp_path HOME/uwsgi; scgi_temp_path HOME/scgi;
  server { listen 127.0.0.1:PORT; LOCATION }
}
"""
Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a starter of our server."""
    (tmp_path / "password").write_text(PASSWORD)
    running_servers: list[Process] = []

    def begin(*flags: str) -> Process:
        password = f"--admin-password-file={tmp_path}/password"
        running_servers.append(Process(tmp_path, tmp_path / "data", password, *flags))
        return running_servers[-1]

    yield begin
    for server in running_servers:
        server.process.kill()
        server.process.communicate()


@contextlib.contextmanager
def nginx(home: Path, backend: str, location: str) -> Iterator[int]:
    """Run nginx in front of a server, and give its port."""
    program, port = need("nginx"), free_port()
    words = {"HOME": str(home), "PORT": str(port), "USER": "user root;" if os.geteuid() == 0 else ""}
    text = NGINX.replace("LOCATION", location.replace("BACKEND", backend))
    for word, value in words.items():
        text = re.sub(rf"\b{word}\b", value, text)
    (home / "nginx.conf").write_text(text)
    command = [program, "-c", f"{home}/nginx.conf", "-e", f"{home}/error.log"]
    with running(command, port, "/"):
        yield port


def ask(port: int, row: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Said:
    method, _, path = row.rpartition(" ")
    path = path.replace("{name:text}", "job").replace("{name}", "n1")
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as client:
        client.request(method or "GET", path, body or None, dict(headers or {}))
        answer = client.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Said(answer.status, found, answer.read())


def _answered_otherwise(port: int) -> set[str]:
    return {row for row in TABLE if ask(port, row).status != 401}


@pytest.mark.parametrize("location", LOCATIONS)
def test_through_nginx_every_route_but_the_open_ones_wants_credentials(
    start: Start, tmp_path: Path, location: str
) -> None:
    server = start()
    with nginx(tmp_path, server.address, LOCATIONS[location]) as port:
        headers = {"Host": "vigie.example"}
        assert {row for row in TABLE if ask(port, row, headers).status != 401} == OPEN
        assert ask(port, "/nothing", headers).status == 401
        assert ask(port, "/metrics", {"Authorization": f"Bearer {server.token()}"}).status == 200


def test_nginx_that_gives_no_sign_of_itself_needs_auth_always(start: Start, tmp_path: Path) -> None:
    server = start("--auth=always")
    silent = "location / { proxy_pass BACKEND; proxy_http_version 1.1; }"
    with nginx(tmp_path, server.address, silent) as port:
        assert _answered_otherwise(port) == OPEN
        assert ask(port, "/metrics", {"Authorization": f"Bearer {server.token()}"}).status == 200


def test_signing_in_works_below_a_prefix(start: Start, tmp_path: Path) -> None:
    server = start("--names=vigie.example")
    location = "location /watch/ { proxy_pass BACKEND/; }"
    with nginx(tmp_path, server.address, location) as port:
        page = ask(port, "/watch/login")
        assert 'action="api/login"' in page.body.decode()
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://vigie.example"}
        said = ask(port, "POST /watch/api/login", form, f"name=admin&password={PASSWORD}".encode())
        assert (said.status, said.headers["location"]) == (303, "../")
        cookie = said.headers["set-cookie"].partition(";")[0]
        assert json.loads(ask(port, "/watch/api/session", {"Cookie": cookie}).body)["role"] == "admin"


def test_header_of_a_listed_proxy_signs_in_and_a_client_cannot_set_it(start: Start, tmp_path: Path) -> None:
    server = start("--proxies=127.0.0.1", "--proxy-user-header=X-Remote-User")
    location = "location / { proxy_pass BACKEND; proxy_set_header X-Remote-User $remote_user; }"
    with nginx(tmp_path, server.address, location) as port:
        assert ask(port, "/api/session", {"X-Remote-User": "admin"}).status == 401


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Return a certificate that signs itself, and its key."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = output(
        need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return cert, key


def test_tls_is_spoken_from_1_2_on_with_a_certificate_whose_fingerprint_is_known(
    start: Start, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    server = start(f"--tls-cert={cert}", f"--tls-key={key}")
    assert server.address.startswith("https://")
    port = urlsplit(server.address).port or 0
    context = ssl.create_default_context(cafile=str(cert))
    with contextlib.closing(
        http.client.HTTPSConnection("localhost", port, timeout=60, context=context)
    ) as client:
        client.request("POST", "/api/login", json.dumps({"name": "admin", "password": PASSWORD}))
        answer = client.getresponse()
        assert "secure" in answer.headers["set-cookie"].lower()
        answer.read()
        client.request("GET", "/api/v1/query?query=1")
        assert client.getresponse().status == 200
    seen = output(need("openssl"), "x509", "-in", str(cert), "-noout", "-fingerprint", "-sha256").stdout
    assert fingerprint(cert) == "sha256:" + seen.partition("=")[2].strip().replace(":", "").lower()
    old = output(
        need("openssl"), "s_client", "-tls1_1", "-connect", f"localhost:{port}", "-cipher", "ALL@SECLEVEL=0"
    )
    assert old.returncode != 0
    new = output(
        need("openssl"), "s_client", "-tls1_2", "-connect", f"localhost:{port}", "-CAfile", str(cert)
    )
    assert (new.returncode, "Verify return code: 0 (ok)" in new.stdout) == (0, True)


def test_key_that_does_not_belong_to_the_certificate_is_refused(
    certificate: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cert, key = certificate
    other = output(need("openssl"), "ecparam", "-name", "prime256v1", "-genkey", "-noout")
    key.write_text(other.stdout)
    assert main(["server", f"--data={tmp_path}/d", f"--tls-cert={cert}", f"--tls-key={key}"]) == 1
    said = capsys.readouterr().err
    assert str(cert) in said
    assert str(key) in said
