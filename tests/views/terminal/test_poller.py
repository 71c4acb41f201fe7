"""The poller: a server that goes away and comes back, and answers of all kinds."""

from __future__ import annotations

import json
import threading

import pytest

from tests.views import answers
from vigie.views.terminal.poller import MAX_PAGES, NoResponseError, Poller
from vigie.views.terminal.routes import PageRoute
from vigie.wire.api.pages import ClusterPage


class Server:
    """Answers, or is not there."""

    def __init__(self) -> None:
        self.there = True

    def fetch(self, path: str) -> bytes:
        if not self.there:
            raise NoResponseError("refused")
        return json.dumps(answers.cluster() if path.endswith("cluster") else answers.job_page()).encode()


def test_what_was_known_stays_while_the_server_is_away_and_it_heals() -> None:
    server = Server()
    poller = Poller(server.fetch, 60, lambda: None)
    poller.refresh()
    server.there = False
    poller.refresh()
    lost = poller.state(PageRoute())
    assert isinstance(lost.answer, ClusterPage)
    assert lost.problem == "refused"
    poller.refresh()
    assert poller.state(PageRoute()).lost_ms == lost.lost_ms
    server.there = True
    poller.refresh()
    assert (poller.state(PageRoute()).problem, poller.state(PageRoute()).lost_ms) == ("", 0)


def test_page_that_is_opened_is_asked_for_at_once() -> None:
    opened = threading.Event()

    def fetch(path: str) -> bytes:
        if path.endswith("jobs/7"):
            opened.set()
        return b"{}"

    poller = Poller(fetch, 600, lambda: None)
    poller.start()
    poller.open(PageRoute("job", ("7",)))
    assert opened.wait(60)


def test_answers_are_kept_for_few_pages() -> None:
    poller = Poller(Server().fetch, 60, lambda: None)
    for number in range(2 * MAX_PAGES):
        poller.open(PageRoute("job", (str(number),)))
        poller.refresh()
    assert poller.state(PageRoute("job", ("0",))).answer is None
    assert poller.state(PageRoute("job", (str(2 * MAX_PAGES - 1),))).answer is not None


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b"[]", b"\xff", b'{"at_ms": "now"}'], ids=str)
def test_answer_that_cannot_be_read_is_a_problem_and_the_last_one_stays(body: bytes) -> None:
    server = Server()
    poller = Poller(lambda path: body if not server.there else server.fetch(path), 60, lambda: None)
    poller.refresh()
    server.there = False
    poller.refresh()
    state = poller.state(PageRoute())
    assert isinstance(state.answer, ClusterPage)
    assert "not that of a vigie server" in state.problem
