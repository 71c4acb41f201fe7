"""Keys: what they choose, open and change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tests.views import answers
from vigie.views.terminal import selection
from vigie.views.terminal.page import TerminalPage
from vigie.views.terminal.render import ScreenState, build_page
from vigie.views.terminal.routes import PageRoute, parse_route
from vigie.views.terminal.state import MAX_VISITS, UiState, Visit, handle_key

HEIGHT = 10


ANSWERS: dict[str, Callable[[], dict[str, Any]]] = {
    "": answers.cluster,
    "node": answers.node_page,
    "gpu": answers.gpu_page,
    "job": answers.job_page,
    "user": answers.user_page,
    "events": answers.events_page,
}


def page(state: UiState, answer: dict[str, Any] | None = None) -> TerminalPage:
    route = state.here.route
    body = msgspec.json.encode(answer or ANSWERS[route.kind]())
    return build_page(state, ScreenState(route.decode(body)), 80, 24)


def after(*keys: str, state: UiState | None = None) -> UiState:
    state = state or UiState()
    for key in keys:
        state = handle_key(state, key, page(state), HEIGHT)
    return state


def chosen(state: UiState) -> str:
    spot = selection.find_selection(page(state), state.here.chosen, state.here.row)
    return spot.key if spot else ""


def test_arrows_go_through_incidents_map_and_jobs() -> None:
    assert chosen(UiState()) == "incident:xid:gpu02:3"
    assert chosen(after("down")) == "node:gpu01"
    assert chosen(after("down", "right")) == "node:gpu02"
    assert chosen(after("j", "l", "l", "l")) == "job:1"
    assert chosen(after("down", "down", "down")) == "job:2"
    assert chosen(after("end")) == "waiting:3"
    assert chosen(after("end", "down", "home", "up")) == "incident:xid:gpu02:3"
    assert chosen(after("down", "left")) == "incident:xid:gpu02:3"


def test_tab_goes_from_section_to_section_and_round() -> None:
    assert chosen(after("tab")) == "node:gpu01"
    assert chosen(after("tab", "tab")) == "job:1"
    assert chosen(after("tab", "tab", "tab", "tab")) == "incident:xid:gpu02:3"
    assert chosen(after("back tab")) == "waiting:3"


def test_enter_opens_what_is_chosen_and_escape_goes_back_to_it() -> None:
    opened = after("down", "right", "enter")
    assert opened.here.route == PageRoute("node", ("gpu02",))
    back = after("esc", state=opened)
    assert (back.here.route, chosen(back)) == (PageRoute(), "node:gpu02")
    assert after("tab", "tab", "enter").here.route == PageRoute("job", ("1",))


def test_what_lasts_opens_as_it_is_now() -> None:
    assert after("enter").here.route == PageRoute("gpu", ("gpu02", "3"))


def test_what_is_over_opens_at_its_minute_and_t_comes_back_to_now() -> None:
    answer = answers.cluster()
    answer["incidents"][0]["until_ms"] = answers.NOW
    opened = handle_key(UiState(), "enter", page(UiState(), answer), HEIGHT)
    assert opened.here.route == PageRoute("gpu", ("gpu02", "3"), "1794808200000")
    assert after("t", state=opened).here.route == PageRoute("gpu", ("gpu02", "3"))


def test_digit_opens_that_gpu_of_the_chosen_node() -> None:
    assert after("down", "right", "5").here.route == PageRoute("gpu", ("gpu02", "5"))
    assert after("5").here.route == PageRoute()


def test_e_opens_everything_that_was_found_and_escape_comes_back() -> None:
    opened = after("e")
    assert opened.here.route == parse_route("events") == PageRoute("events")
    assert after("e", state=opened) == opened
    assert after("esc", state=opened).here.route == PageRoute()


def test_measure_goes_round_both_ways() -> None:
    assert after("m").measure == 1
    assert after("M", "m").measure == 0


def test_filter_is_typed_kept_and_cleared() -> None:
    typing = after("/", "g", "q", "backspace", "p")
    assert (typing.typing, typing.here.words, typing.ended) == (True, "gp", False)
    kept = after("enter", state=typing)
    assert (kept.typing, kept.here.words) == (False, "gp")
    assert after("esc", state=kept).here.words == ""
    assert after("esc", state=typing).here.words == ""


def test_help_is_closed_by_any_key_and_q_ends() -> None:
    assert after("?").helping
    assert not after("?", "x").helping
    assert after("q").ended


def test_chosen_stays_chosen_when_other_rows_come_and_go() -> None:
    state = after("tab", "tab", "down")
    answer = answers.cluster()
    answer["incidents"] = []
    spot = selection.find_selection(page(state, answer), state.here.chosen, state.here.row)
    assert spot is not None
    assert spot.key == "job:2"
    answer["jobs"] = answer["jobs"][:1]
    near = selection.find_selection(page(state, answer), state.here.chosen, state.here.row)
    assert near is not None
    assert near.key.startswith(("job:", "waiting:"))


def test_visits_are_bounded() -> None:
    state = UiState()
    for number in range(3 * MAX_VISITS):
        state = after("end", "enter", state=state.at(Visit(PageRoute("job", (str(number),)))))
    assert len(state.visits) <= MAX_VISITS + 1


def test_links_are_those_of_the_web_page() -> None:
    assert parse_route("") == PageRoute()
    assert parse_route("node/a%2Fb") == PageRoute("node", ("a/b",))
    assert parse_route("gpu/n1/0?at=17") == PageRoute("gpu", ("n1", "0"), "17")
    assert PageRoute("node", ("a/b",), "17").path == "api/pages/nodes/a%2Fb?at=17"
    assert parse_route("dashboard/jobs") is None
    assert parse_route("gpu/n1") is None


def test_link_that_only_the_web_page_has_is_said_so() -> None:
    answer = answers.cluster()
    answer["incidents"][0]["link"] = "dashboard/jobs"
    state = handle_key(UiState(), "enter", page(UiState(), answer), HEIGHT)
    assert state.here.route == PageRoute()
    assert "in a browser: /dashboard/jobs" in state.remark
