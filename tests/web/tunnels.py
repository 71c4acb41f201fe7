"""A tunnel as people make it, `ssh -L`, with an sshd of its own: no service, no key of the machine."""

from __future__ import annotations

import contextlib
import getpass
import os
from collections.abc import Iterator
from pathlib import Path

from bench.programs import free_port, running

from tests.real.conftest import need, output

HERE = "127.0.0.1"
SEPARATE = Path("/run/sshd")  # where the service makes it; root's sshd does not start without
SSHD = """
ListenAddress {here}:{port}
HostKey {home}/host
AuthorizedKeysFile {home}/mine.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
"""


@contextlib.contextmanager
def sshd(home: Path) -> Iterator[int]:
    """Run an sshd that lets in whoever has the key in this directory, and give its port."""
    program, port = need("sshd"), free_port()
    for key in ("host", "mine"):
        made = output(need("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", f"{home}/{key}")
        assert made.returncode == 0, made.stderr
    (home / "sshd_config").write_text(SSHD.format(here=HERE, port=port, home=home))
    (home / "known").write_text(f"[{HERE}]:{port} {(home / 'host.pub').read_text()}")
    if os.geteuid() == 0:
        SEPARATE.mkdir(mode=0o755, exist_ok=True)
    with running([program, "-D", "-f", f"{home}/sshd_config", "-E", f"{home}/sshd.log"], port, "/"):
        yield port


@contextlib.contextmanager
def tunnel(home: Path, sshd_port: int, port: int, server_port: int) -> Iterator[None]:
    """Forward a port of this machine through sshd to the server's, until the end of the block."""
    settings = (
        "BatchMode=yes",
        "ExitOnForwardFailure=yes",
        "IdentitiesOnly=yes",
        f"UserKnownHostsFile={home}/known",
    )
    line = [need("ssh"), "-F", "none", "-N", "-i", f"{home}/mine", "-p", str(sshd_port)]
    line += [word for each in settings for word in ("-o", each)]
    line += ["-L", f"{port}:{HERE}:{server_port}", f"{getpass.getuser()}@{HERE}"]
    with running(line, port, "/"):
        yield
