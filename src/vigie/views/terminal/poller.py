"""Asks the server in the background, again and again, for the page that is open."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from vigie.views.terminal.render import ScreenState
from vigie.views.terminal.routes import PageRoute

MOST_KEPT = 32  # answers to pages that one may go back to


class NoResponseError(Exception):
    """The server gave no answer; the message says why."""


class Poller:
    """The newest answers; a server that does not answer is asked on."""

    def __init__(self, ask: Callable[[str], object], every: float, news: Callable[[], None]) -> None:
        self._ask, self._every, self._news = ask, every, news
        self._route = PageRoute()
        self._seen: OrderedDict[PageRoute, ScreenState] = OrderedDict()
        self._changed = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Go on asking until the program ends."""
        threading.Thread(target=self._run, name="feed", daemon=True).start()

    def want(self, route: PageRoute) -> None:
        """Ask for this page from now on."""
        if route != self._route:
            self._route = route
            self._changed.set()

    def seen(self, route: PageRoute) -> ScreenState:
        with self._lock:
            return self._seen.get(route, ScreenState())

    def refresh(self) -> None:
        """Ask once, and keep what comes."""
        route = self._route
        old = self.seen(route)
        try:
            new = ScreenState(self._ask(route.path))
        except NoResponseError as error:
            new = ScreenState(old.answer, str(error), old.lost_ms or time.time() * 1000)
        with self._lock:
            self._seen[route] = new
            self._seen.move_to_end(route)
            while len(self._seen) > MOST_KEPT:
                self._seen.popitem(last=False)

    def _run(self) -> None:
        while True:
            self._changed.clear()
            self.refresh()
            self._news()
            self._changed.wait(self._every)
