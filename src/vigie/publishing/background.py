"""Publishes beside a server that runs in the same process."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

from vigie.common.endpoint import TlsOptions
from vigie.common.listen import local_url
from vigie.publishing.managed_directory import WriteOutcome
from vigie.publishing.options import PublishOptions
from vigie.publishing.publisher import Publisher, PublishTarget

log = logging.getLogger(__name__)

SECONDS, STOP_SECONDS = 10.0, 3.0


class BackgroundPublisher:
    """Keeps what is published fresh, in a thread of its own."""

    def __init__(self, root: Path, data: Path, certificate: str, anonymous_viewer: bool) -> None:
        self._root, self._data = root, data
        self._certificate, self._anonymous = certificate, anonymous_viewer
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, address: str) -> None:
        """Begin; the server listens there."""
        here = local_url(address)
        trusted = str(Path(self._certificate).resolve()) if self._certificate else ""
        options = PublishOptions(self._root, here, anonymous_viewer=self._anonymous, ca_file=trusted)
        # What is asked is the very process that asks: its certificate need not have this name.
        publisher = Publisher(options, PublishTarget(here, self._data, tls=TlsOptions(insecure=True)))
        self._thread = threading.Thread(
            target=publisher.watch, args=(self._stop, SECONDS, self._tell), name="publish", daemon=True
        )
        self._thread.start()

    async def stop(self) -> None:
        """End; an answer that does not come is not waited for."""
        self._stop.set()
        if self._thread:
            await asyncio.to_thread(self._thread.join, STOP_SECONDS)

    def _tell(self, outcome: WriteOutcome) -> None:
        if outcome.written or outcome.removed:
            log.info("published %d files in %s", len(outcome.written), self._root)
