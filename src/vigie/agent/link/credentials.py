"""What the agent shows to a server: the key of its node, or else the join token that gets it one."""

from __future__ import annotations

import hashlib
import os
import re
import ssl
from pathlib import Path
from typing import NamedTuple

from vigie.common.endpoint import Secret
from vigie.common.token_file import load_or_create_token


class NoCredentialsError(Exception):
    """There is nothing to show; the message says what to type."""


class WrongCertificateError(Exception):
    """The server is not the one whose fingerprint was given."""


class LinkCredentials(NamedTuple):
    """Where the node's key is kept, and where a join token may be tokens."""

    key_file: Path
    token: Secret = Secret(variable="VIGIE_TOKEN")
    token_argument: str = ""  # on the command line

    def candidates(self) -> list[str]:
        """Return what may be shown, the best first; read anew each time, so that it can be changed."""
        tokens = []
        try:
            tokens.append(load_or_create_token(self.key_file))
        except (FileNotFoundError, NotADirectoryError):
            pass
        if token := self.token_argument or self.token.read():
            tokens.append(token)
        if not tokens:
            raise NoCredentialsError(
                "there is neither a key nor a join token; on the server: vigie nodes join, "
                "and here: --token-file FILE, or VIGIE_TOKEN in the environment"
            )
        return tokens

    def is_saved(self, key: str) -> bool:
        """Tell whether the file has this key."""
        try:
            return load_or_create_token(self.key_file) == key
        except (OSError, ValueError):
            return False

    def save(self, key: str) -> None:
        """Write the key of this node, for its owner's eyes only; it replaces the old one as a whole."""
        self.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = self.key_file.with_name(f".{self.key_file.name}.{os.getpid()}")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(key + "\n")
            file.flush()
            os.fsync(descriptor)
        partial.replace(self.key_file)


def credentials_directory(data: Path, url: str) -> Path:
    """Return where the key and the backlog for a server are kept."""
    return data / "link" / re.sub(r"[^A-Za-z0-9.-]+", "_", url.partition("://")[2]).strip("_")


def pinned_context(host: str, port: int, fingerprint: str, seconds: float) -> ssl.SSLContext:
    """Return a context that trusts only the certificate with this fingerprint; it asks the server for it.

    Nothing secret is sent meanwhile, and whoever answers later must have the key of that certificate.
    """
    certificate = ssl.get_server_certificate((host, port), timeout=seconds)
    tokens = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()
    if tokens != fingerprint.lower().replace(":", "").removeprefix("sha256"):
        raise WrongCertificateError(f"its certificate has fingerprint {tokens}, not {fingerprint}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context
