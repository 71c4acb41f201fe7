"""TLS of the server: the certificate it shows, and the fingerprint by which an agent knows it."""

from __future__ import annotations

import hashlib
import re
import ssl
from pathlib import Path

CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def context_of(certificate: str, key: str) -> ssl.SSLContext:
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


def fingerprint(certificate: Path) -> str:
    """Return the fingerprint of a PEM file's first certificate, which is the one that is shown."""
    found = CERTIFICATE.search(certificate.read_text(encoding="ascii", errors="replace"))
    if not found:
        raise ValueError(f"{certificate} holds no certificate in PEM form")
    return f"sha256:{hashlib.sha256(ssl.PEM_cert_to_DER_cert(found[0])).hexdigest()}"


def _no_password() -> str:
    raise ValueError("the key has a passphrase, and a server has nobody to ask; use one without")
