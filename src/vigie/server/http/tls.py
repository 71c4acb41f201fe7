"""TLS of the server: the certificate it shows, and the fingerprint by which an agent knows it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import ssl
from pathlib import Path

log = logging.getLogger(__name__)

CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)

POLL_SECONDS = 1.0


class Certificate:
    """A certificate that follows its files: whoever connects is shown what they hold by then.

    Connections that are open stay as they are. Files that are no good change nothing, and the log says so.
    """

    def __init__(self, certificate: str, key: str) -> None:
        self.file, self._key = certificate, key
        self._stats = self._stat_files()
        self.context = self._current = build_context(certificate, key)
        self.context.sni_callback = self._select

    async def follow(self) -> None:
        """Look at the files again and again, for ever."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await asyncio.to_thread(self.refresh)

    def refresh(self) -> None:
        """Show what the files hold, if they have changed."""
        stats = self._stat_files()
        if stats == self._stats:
            return
        self._stats = stats
        try:
            self._current = build_context(self.file, self._key)
            shown = fingerprint(Path(self.file))
        except (ValueError, OSError) as error:
            log.error("the certificate stays as it was, as the new one is no good: %s", error)
        else:
            log.info("a new certificate is shown from now on: %s has fingerprint %s", self.file, shown)

    def _select(self, connection: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        connection.context = self._current

    def _stat_files(self) -> list[tuple[int, int, int] | None]:
        return [_state(file) for file in (self.file, self._key) if file]


def _state(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def build_context(certificate: str, key: str) -> ssl.SSLContext:
    """Return the context of new connections, or raise ValueError that names the files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key or None, password=_no_password)
    except (OSError, ssl.SSLError, ValueError) as error:
        files = f"server.tls_cert {certificate} with server.tls_key {key or '(in the same file)'}"
        raise ValueError(f"{files}: {error}") from None
    return context


def read_certificate(file: Path) -> str:
    """Return the first certificate of a PEM file, which is the one that is shown."""
    found = CERTIFICATE.search(file.read_text(encoding="ascii", errors="replace"))
    if not found:
        raise ValueError(f"{file} holds no certificate in PEM form")
    return found[0]


def fingerprint(file: Path) -> str:
    """Return the fingerprint of the certificate that is shown."""
    return f"sha256:{hashlib.sha256(ssl.PEM_cert_to_DER_cert(read_certificate(file))).hexdigest()}"


def _no_password() -> str:
    raise ValueError("the key has a passphrase, and a server has nobody to ask; use one without")
