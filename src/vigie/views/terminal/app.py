"""The loop: what is known becomes a screen, keys become a state."""

from __future__ import annotations

from collections.abc import Callable

from vigie.views.terminal.page import TerminalPage
from vigie.views.terminal.poller import Poller
from vigie.views.terminal.render import ScreenState, body_height, everything, frame, page_of
from vigie.views.terminal.screen import Screen
from vigie.views.terminal.state import UiState, handle_key
from vigie.views.terminal.styled_text import TerminalStyle, plain

Ask = Callable[[str], object]


class PageLoader:
    """Keeps the last page: choosing does not change it, and one of a thousand nodes takes a while to make."""

    def __init__(self) -> None:
        self._made_of: tuple[object, ...] = ()
        self._page = TerminalPage("", (), ())

    def of(self, state: UiState, seen: ScreenState, size: tuple[int, int]) -> TerminalPage:
        """Return the page that is open."""
        made_of = (
            state.here.route,
            state.here.words,
            state.measure,
            size,
            id(seen.answer),
            bool(seen.problem),
        )
        if made_of != self._made_of:
            self._page, self._made_of = page_of(state, seen, *size), made_of
            self._answer = seen.answer  # kept, so that no other answer gets its id
        return self._page


def once(ask: Ask, look: TerminalStyle, columns: int) -> list[str]:
    """Return the Cluster page as plain lines."""
    state, feed = UiState(), Poller(ask, 0, lambda: None)
    feed.refresh()
    seen = feed.seen(state.here.route)
    page = page_of(state, seen, columns, 0)
    return [plain(line, look) for line in everything(state, seen, page, columns)]


def run(ask: Ask, look: TerminalStyle, every: float) -> None:
    """Show pages until the reader quits."""
    state, screen, pages = UiState(), Screen(look), PageLoader()
    feed = Poller(ask, every, screen.wake)
    with screen:
        feed.start()
        while not state.ended:
            size = screen.size()
            seen = feed.seen(state.here.route)
            page = pages.of(state, seen, size)
            screen.draw(frame(state, seen, page, *size), size)
            for key in screen.keys(every):
                page = pages.of(state, feed.seen(state.here.route), size)
                state = handle_key(state, key, page, body_height(state, seen, page, *size))
                feed.want(state.here.route)
