"""Publishes once, or again and again, so that the files follow the server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from vigie.common.endpoint import Endpoint, TlsOptions
from vigie.common.token_file import load_or_create_token
from vigie.publishing import server_client, tokens
from vigie.publishing.bundle import publish
from vigie.publishing.managed_directory import WriteOutcome
from vigie.publishing.options import InvalidOptionError, PublishOptions, PublishTokens, ScrapeEntry
from vigie.server.auth.secrets_file import SecretsError

log = logging.getLogger(__name__)

ERRORS = (server_client.ServerClientError, InvalidOptionError, SecretsError, OSError, ValueError)
READ_AT_START = ("prometheus/prometheus.yml", "prometheus/rules/")  # what Prometheus does not look at again


class PublishTarget(NamedTuple):
    """The server to ask, and where secrets are."""

    url: str
    data: Path | None = None  # its directory, if it is here
    token_file: Path | None = None  # of a viewer
    scrape_tokens: Path | None = None  # a file for all agents, or a directory with a file for each node
    tls: TlsOptions = TlsOptions()


class Publisher:
    """Asks a server and writes the files."""

    def __init__(
        self, options: PublishOptions, whom: PublishTarget, overwrite: bool = False, reload: bool = False
    ) -> None:
        self._options, self._whom = options, whom
        self._overwrite, self._reload = overwrite, reload
        self._said: dict[str, str] = {}

    def once(self) -> WriteOutcome:
        tokens = self._tokens()
        server = self._target(tokens.server)
        found, portless = server_client.fetch_entries(server), server_client.fetch_portless(server)
        self._say_once("tokens", describe_missing_tokens(found, tokens))
        self._say_once("nodes", _too_many(portless, self._options.federate))
        options = self._options if portless <= self._options.federate else self._options._replace(federate=0)
        outcome = publish(options, tokens, found, self._overwrite)
        self._say_once("foreign", _describe_kept_files(outcome))
        if self._reload and any(path.startswith(READ_AT_START) for path in outcome.written):
            self._say_once("reload", server_client.reload(Endpoint(self._options.prometheus)))
        return outcome

    def watch(self, stop: threading.Event, seconds: float, tell: Callable[[WriteOutcome], None]) -> None:
        """Publish every so many seconds until stopped; trouble is logged once, and passes by itself."""
        while not stop.is_set():
            try:
                tell(self.once())
                self._say_once("trouble", "")
            except ERRORS as error:
                self._say_once("trouble", f"cannot publish to {self._options.root}: {error}")
            stop.wait(seconds)

    def _say_once(self, about: str, line: str) -> None:
        if line != self._said.get(about, ""):
            self._said[about] = line
            if line:
                log.warning("%s", line)

    def _tokens(self) -> PublishTokens:
        whom = self._whom
        return tokens.load_tokens(self._options.root, whom.token_file, whom.scrape_tokens, self._new_token)

    def _new_token(self) -> str:
        """Return a token for looking if the server's directory is here, and no other server's."""
        data = self._whom.data
        try:
            admin = load_or_create_token(data / "server-token") if data else ""
        except (OSError, ValueError):
            return ""
        return tokens.viewer_token(data) if data and server_client.accepts_token(self._target(admin)) else ""

    def _target(self, token: str) -> Endpoint:
        headers = (("Authorization", f"Bearer {token}"),) if token else ()
        return Endpoint(self._whom.url, headers=headers, tls=self._whom.tls)


def _too_many(portless: int, most: int) -> str:
    if not 0 < most < portless:
        return ""
    return (
        f"{portless} nodes have no port for Prometheus, too many to ask the server for their samples "
        f"(--federate {most}): let the agents listen, or have the server pass on samples by --remote-write"
    )


def _describe_kept_files(outcome: WriteOutcome) -> str:
    if not outcome.foreign:
        return ""
    return f"left alone, as it is not what was published there: {', '.join(outcome.foreign)}; see --overwrite"


def describe_missing_tokens(entries: list[ScrapeEntry], tokens: PublishTokens) -> str:
    """Return what a person should know: agents that may ask for a token that nobody gave us."""
    names = [entry.labels["instance"] for entry in entries if entry.is_agent and not tokens.agents]
    without = [name for name in names if name not in tokens.nodes]
    if not without:
        return ""
    shown = ", ".join(without[:5]) + (f" and {len(without) - 5} more" if len(without) > 5 else "")
    return (
        f"no scrape token is known for {shown}: Prometheus is refused there unless the agent runs with "
        "--auth none; copy scrape-token from the nodes and name it by --scrape-tokens"
    )
