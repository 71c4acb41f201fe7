"""Where an HTTP peer is and what to show it: address, headers, credentials, TLS."""

from __future__ import annotations

import base64
import os
import ssl
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from vigie.common.redaction import redact_url


class Secret(NamedTuple):
    """A secret that stands in a file or else in an environment variable, read anew at each use."""

    file: str = ""
    variable: str = ""

    def read(self) -> str:
        """Return the secret, or nothing when there is none."""
        if self.file:
            return Path(self.file).read_text(encoding="utf-8").strip()
        return os.environ.get(self.variable, "") if self.variable else ""


class TlsOptions(NamedTuple):
    """Whom to trust, who we are, and the name the peer must have when it is not that of its address."""

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    insecure: bool = False

    def context(self) -> ssl.SSLContext:
        """Return a context for new connections, or raise ValueError that names the file at fault."""
        try:
            context = ssl.create_default_context(cafile=self.ca_file or None)
        except (OSError, ssl.SSLError) as error:
            raise ValueError(f"{self.ca_file}: no certificates to trust: {error}") from None
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.cert_file:
            try:
                context.load_cert_chain(self.cert_file, self.key_file or None)
            except (OSError, ssl.SSLError) as error:
                where = f"{self.cert_file} with {self.key_file or 'the key in it'}"
                raise ValueError(f"{where}: no certificate to show: {error}") from None
        return context


class Endpoint(NamedTuple):
    """A peer's URL with what its requests carry."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    user: str = ""
    password: Secret = Secret()
    token: Secret = Secret()
    tls: TlsOptions = TlsOptions()

    @property
    def name(self) -> str:
        """Return the address as it may be logged."""
        return redact_url(self.url)

    def parts(self) -> SplitResult:
        """Return the URL's parts, or raise ValueError that says what is wrong with it."""
        parts = urlsplit(self.url)
        _ = parts.port  # raises ValueError for a port that is none
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.name!r} should be a URL such as http://host:9090/api/v1/write")
        return parts

    def request_headers(self) -> dict[str, str]:
        """Return the headers of each request; secrets are read anew, so that they can be changed."""
        headers = dict(self.headers)
        parts = urlsplit(self.url)
        token = self.token.read()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif self.user or parts.username:
            user = self.user or unquote(parts.username or "")
            password = self.password.read() or unquote(parts.password or "")
            pair = base64.b64encode(f"{user}:{password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers

    def check(self) -> None:
        """Raise ValueError or OSError when this cannot work: a bad URL, a missing file."""
        if self.parts().scheme == "https":
            self.tls.context()
        self.request_headers()
