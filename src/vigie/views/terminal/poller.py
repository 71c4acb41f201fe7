"""Requests the open page in the background, again and again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from vigie.views.terminal.render import ScreenState
from vigie.views.terminal.routes import PageRoute

MAX_PAGES = 32  # whose answers are kept for going back

FOREIGN = "the answer is not that of a vigie server of this version"


class NoResponseError(Exception):
    """The server gave no answer, or none that can be read; the message says why."""


class Poller:
    """Keeps the newest answers; a server that does not answer is requested again."""

    def __init__(self, fetch: Callable[[str], bytes], seconds: float, notify: Callable[[], None]) -> None:
        self._fetch, self._seconds, self._notify = fetch, seconds, notify
        self._route = PageRoute()
        self._states: OrderedDict[PageRoute, ScreenState] = OrderedDict()
        self._changed = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._run, name="poller", daemon=True).start()

    def open(self, route: PageRoute) -> None:
        """Request this page from now on."""
        if route != self._route:
            self._route = route
            self._changed.set()

    def state(self, route: PageRoute) -> ScreenState:
        with self._lock:
            return self._states.get(route, ScreenState())

    def refresh(self) -> None:
        """Request the page once."""
        route = self._route
        old = self.state(route)
        try:
            new = ScreenState(route.decode(self._fetch(route.path)))
        except (NoResponseError, msgspec.DecodeError, UnicodeDecodeError) as error:
            why = str(error) if isinstance(error, NoResponseError) else f"{FOREIGN}: {error}"
            new = ScreenState(old.answer, why, old.lost_ms or time.time() * 1000)
        with self._lock:
            self._states[route] = new
            self._states.move_to_end(route)
            while len(self._states) > MAX_PAGES:
                self._states.popitem(last=False)

    def _run(self) -> None:
        while True:
            self._changed.clear()
            self.refresh()
            self._notify()
            self._changed.wait(self._seconds)
