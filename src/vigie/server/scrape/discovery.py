"""What an existing Prometheus should scrape: over HTTP, and as a file that is kept fresh."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from vigie.server.http import sent
from vigie.server.scrape.target import Target
from vigie.yaml_text import document

log = logging.getLogger(__name__)

REFRESH_SECONDS = 5.0
Listing = Callable[[], Iterable[Target]]


class Entry(NamedTuple):
    """Targets with labels, as Prometheus's service discovery spells them."""

    targets: list[str]
    labels: dict[str, str]


class Discovery:
    """Lists everything that can be scraped, whoever knows of it."""

    def __init__(self, *listings: Listing) -> None:
        self._listings = listings

    def entries(self) -> list[Entry]:
        """Return the targets with the labels that their series have here, too."""
        found = {target.url: target for listing in self._listings for target in listing()}
        ordered = [found[url] for url in sorted(found)]
        return [Entry([target.address], target.discovered()) for target in ordered]

    async def answer(self, request: Request) -> Response:
        """Answer what http_sd_configs asks."""
        entries = [entry._asdict() for entry in self.entries()]
        return sent(msgspec.json.encode(entries), request)


class FileSd:
    """Keeps a file for file_sd_configs as the targets are."""

    def __init__(self, path: Path, discovery: Discovery) -> None:
        self._path, self._discovery = path, discovery
        self._written: str | None = None
        self._said = ""
        self._wanted, self._closing = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="file_sd", daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Look at once whether something has changed."""
        self._wanted.set()

    def close(self) -> None:
        """End."""
        self._closing = True
        self.refresh()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            self._write()
            self._wanted.wait(REFRESH_SECONDS)
            self._wanted.clear()

    def _write(self) -> None:
        text = yaml(self._discovery.entries())
        if text == self._written and self._path.exists():
            return
        try:
            _replace(self._path, text)
            self._written, self._said = text, ""
        except OSError as error:
            if str(error) != self._said:  # once a change
                self._said = str(error)
                log.error("cannot write the file for file_sd_configs: %s", error)


def yaml(entries: Iterable[Entry]) -> str:
    """Return the entries as YAML."""
    note = "The targets of vigie, for file_sd_configs. Written anew whenever they change."
    return document([entry._asdict() for entry in entries], note)


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, and no other."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o644)  # a Prometheus runs as somebody else
    os.replace(partial, path)
