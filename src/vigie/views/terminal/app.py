"""The loop: answers become a screen, keys become a state."""

from __future__ import annotations

from collections.abc import Callable

from vigie.views.terminal.page import TerminalPage
from vigie.views.terminal.poller import NoResponseError, Poller
from vigie.views.terminal.render import ScreenState, body_height, build_page, render_all, render_screen
from vigie.views.terminal.screen import Screen
from vigie.views.terminal.state import UiState, handle_key
from vigie.views.terminal.styled_text import TerminalStyle, plain

Fetch = Callable[[str], bytes]


class PageCache:
    """Keeps the last page: moving the selection does not change it, and a large one takes long to build."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._page = TerminalPage("", (), ())

    def load(self, state: UiState, current: ScreenState, size: tuple[int, int]) -> TerminalPage:
        here = state.here
        key = (here.route, here.words, state.measure, size, id(current.answer), bool(current.problem))
        if key != self._key:
            self._page, self._key = build_page(state, current, *size), key
            self._answer = current.answer  # kept, so that no other answer gets its id
        return self._page


def render_once(fetch: Fetch, style: TerminalStyle, columns: int) -> list[str]:
    """Return the Cluster page as plain lines, or raise NoResponseError."""
    state, poller = UiState(), Poller(fetch, 0, lambda: None)
    poller.refresh()
    current = poller.state(state.here.route)
    if current.answer is None:
        raise NoResponseError(current.problem)
    page = build_page(state, current, columns, 0)
    return [plain(line, style) for line in render_all(state, current, page, columns)]


def run(fetch: Fetch, style: TerminalStyle, seconds: float) -> None:
    """Show pages until the reader quits."""
    state, screen, pages = UiState(), Screen(style), PageCache()
    poller = Poller(fetch, seconds, screen.wake)
    with screen:
        poller.start()
        while not state.ended:
            size = screen.size()
            current = poller.state(state.here.route)
            page = pages.load(state, current, size)
            screen.draw(render_screen(state, current, page, *size), size)
            for key in screen.keys(seconds):
                page = pages.load(state, poller.state(state.here.route), size)
                state = handle_key(state, key, page, body_height(state, current, page, *size))
                poller.open(state.here.route)
