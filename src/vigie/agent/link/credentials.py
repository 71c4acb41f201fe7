"""The agent's credentials: the key of its node, or the join token to get one."""

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
    """No credentials; the message says what to do."""


class WrongCertificateError(Exception):
    """The server's certificate does not match the fingerprint."""


class LinkCredentials(NamedTuple):
    """Files of the node's key and the join token."""

    key_file: Path
    token: Secret = Secret(variable="VIGIE_TOKEN")
    token_argument: str = ""  # from the command line

    def candidates(self) -> list[str]:
        """Return the credentials to try, the best first. Files are read each time, so they can change."""
        tokens = []
        try:
            tokens.append(load_or_create_token(self.key_file))
        except (FileNotFoundError, NotADirectoryError):
            pass
        if token := self.token_argument or self.token.read():
            tokens.append(token)
        if not tokens:
            raise NoCredentialsError(
                "no node key and no join token. On the server: vigie nodes join. "
                "Here: --token-file FILE, or VIGIE_TOKEN in the environment"
            )
        return tokens

    def is_saved(self, key: str) -> bool:
        """Return whether the file contains this key."""
        try:
            return load_or_create_token(self.key_file) == key
        except (OSError, ValueError):
            return False

    def save(self, key: str) -> None:
        """Write the key, readable by its owner only, atomically."""
        self.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = self.key_file.with_name(f".{self.key_file.name}.{os.getpid()}")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(key + "\n")
            file.flush()
            os.fsync(descriptor)
        partial.replace(self.key_file)


def credentials_directory(data: Path, url: str) -> Path:
    """Return the directory of a server's key and backlog."""
    return data / "link" / re.sub(r"[^A-Za-z0-9.-]+", "_", url.partition("://")[2]).strip("_")


def pinned_context(host: str, port: int, fingerprint: str, seconds: float) -> ssl.SSLContext:
    """Return a context that trusts only the certificate with this fingerprint, fetched from the server.

    Nothing secret is sent before. Whoever answers later must have the key of that certificate.
    """
    certificate = ssl.get_server_certificate((host, port), timeout=seconds)
    tokens = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()
    if tokens != fingerprint.lower().replace(":", "").removeprefix("sha256"):
        raise WrongCertificateError(f"certificate has fingerprint {tokens}, expected {fingerprint}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context
