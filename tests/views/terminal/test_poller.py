"""The feed: a server that goes away and comes back."""

from __future__ import annotations

import threading

from vigie.views.terminal.poller import MOST_KEPT, NoResponseError, Poller
from vigie.views.terminal.routes import PageRoute


class Server:
    """Answers, or is not there."""

    def __init__(self) -> None:
        self.there = True

    def ask(self, path: str) -> object:
        if not self.there:
            raise NoResponseError("refused")
        return {"path": path}


def test_what_was_known_stays_while_the_server_is_away_and_it_heals() -> None:
    server = Server()
    feed = Poller(server.ask, 60, lambda: None)
    feed.refresh()
    server.there = False
    feed.refresh()
    lost = feed.seen(PageRoute())
    assert (lost.answer, lost.problem) == ({"path": "api/pages/cluster"}, "refused")
    feed.refresh()
    assert feed.seen(PageRoute()).lost_ms == lost.lost_ms
    server.there = True
    feed.refresh()
    assert (feed.seen(PageRoute()).problem, feed.seen(PageRoute()).lost_ms) == ("", 0)


def test_page_that_is_opened_is_asked_for_at_once() -> None:
    asked: list[str] = []
    heard = threading.Event()

    def ask(path: str) -> object:
        asked.append(path)
        if path.endswith("jobs/7"):
            heard.set()
        return {}

    feed = Poller(ask, 600, lambda: None)
    feed.start()
    feed.want(PageRoute("job", ("7",)))
    assert heard.wait(60)


def test_answers_are_kept_for_few_pages() -> None:
    feed = Poller(Server().ask, 60, lambda: None)
    for number in range(2 * MOST_KEPT):
        feed.want(PageRoute("job", (str(number),)))
        feed.refresh()
    assert feed.seen(PageRoute("job", ("0",))).answer is None
    assert feed.seen(PageRoute("job", (str(2 * MOST_KEPT - 1),))).answer is not None
