"""Where the reader is and what they chose; what a key changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vigie.views.terminal import selection
from vigie.views.terminal.measures import MEASURES
from vigie.views.terminal.page import TerminalPage
from vigie.views.terminal.routes import PageRoute, parse_route

MAX_VISITS, MAX_WORDS = 50, 200


class Visit(NamedTuple):
    """A page that was opened, what is chosen on it, and the words that its rows must have."""

    route: PageRoute = PageRoute()
    chosen: str = ""
    row: int = 0  # where the chosen stood, for when it is there no more
    words: str = ""


class UiState(NamedTuple):
    """Everything that keys change."""

    visits: tuple[Visit, ...] = (Visit(),)
    measure: int = 0
    typing: bool = False
    helping: bool = False
    remark: str = ""
    ended: bool = False

    @property
    def here(self) -> Visit:
        return self.visits[-1]

    def at(self, visit: Visit) -> UiState:
        """Return the state with the open page changed."""
        return self._replace(visits=(*self.visits[:-1], visit))

    def matches(self, *texts: str) -> bool:
        """Tell whether what is written has every word of the filter."""
        written = " ".join(texts).casefold()
        return all(word in written for word in self.here.words.casefold().split())


def handle_key(state: UiState, key: str, page: TerminalPage, height: int) -> UiState:
    """Return the state after a key."""
    state = state._replace(remark="")
    if state.typing:
        return _type(state, key)
    if state.helping:
        return state._replace(helping=False, ended=key == "q")
    if key in KEYS:
        return KEYS[key](state, page)
    if key.isdecimal():
        return _gpu(state, page, key)
    return _move(state, key, page, height)


def _move(state: UiState, key: str, page: TerminalPage, height: int) -> UiState:
    here = state.here
    row, spot = selection.move_selection(page, selection.place(page, here.chosen, here.row), key, height)
    return state.at(here._replace(chosen=selection.key_at(page, row, spot), row=row))


def _open(state: UiState, page: TerminalPage) -> UiState:
    spot = selection.find_selection(page, state.here.chosen, state.here.row)
    if spot is None or not spot.route:
        return state
    return _go_to(state, spot.route)


def _go_to(state: UiState, address: str) -> UiState:
    route = parse_route(address)
    if route is None:
        return state._replace(remark=f"the terminal has no such page; in a browser: /{address}")
    if route == state.here.route:
        return state
    at = route.at or state.here.route.at
    return state._replace(visits=(*state.visits[-MAX_VISITS:], Visit(route._replace(at=at))))


def _gpu(state: UiState, page: TerminalPage, digit: str) -> UiState:
    spot = selection.find_selection(page, state.here.chosen, state.here.row)
    if spot is None or not spot.route.startswith("node/"):
        return state
    return _go_to(state, f"gpu/{spot.route.removeprefix('node/')}/{digit}")


def _back(state: UiState, _: TerminalPage) -> UiState:
    if state.here.words:
        return state.at(state.here._replace(words=""))
    return state._replace(visits=state.visits[:-1]) if len(state.visits) > 1 else state


def _now(state: UiState, _: TerminalPage) -> UiState:
    return state.at(state.here._replace(route=state.here.route._replace(at="")))


def _type(state: UiState, key: str) -> UiState:
    here = state.here
    if key in ("enter", "esc"):
        state = state._replace(typing=False)
        return state.at(here._replace(words="")) if key == "esc" else state
    words = here.words
    if key == "backspace":
        words = words[:-1]
    elif len(key) == 1:
        words += key
    return state.at(here._replace(words=words[:MAX_WORDS]))


def _turn(step: int) -> Callable[[UiState, TerminalPage], UiState]:
    return lambda state, _: state._replace(measure=(state.measure + step) % len(MEASURES))


KEYS: dict[str, Callable[[UiState, TerminalPage], UiState]] = {
    "q": lambda state, _: state._replace(ended=True),
    "?": lambda state, _: state._replace(helping=True),
    "/": lambda state, _: state._replace(typing=True),
    "m": _turn(1),
    "M": _turn(-1),
    "t": _now,
    "e": lambda state, _: _go_to(state, "events"),
    "enter": _open,
    "esc": _back,
    "backspace": _back,
}
