"""The pages in a terminal: what they say, at any size, of whatever a server answers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.views import answers
from vigie.views.terminal.help import HELP
from vigie.views.terminal.measures import MEASURES
from vigie.views.terminal.render import ScreenState, build_page, render_all, render_screen
from vigie.views.terminal.routes import PageRoute
from vigie.views.terminal.state import UiState, Visit, handle_key
from vigie.views.terminal.styled_text import Line, TerminalStyle, encode_line, length, plain

PAGES: dict[PageRoute, Callable[[], dict[str, Any]]] = {
    PageRoute(): answers.cluster,
    PageRoute("node", ("gpu02",)): answers.node_page,
    PageRoute("gpu", ("gpu02", "3")): answers.gpu_page,
    PageRoute("job", ("1",)): answers.job_page,
    PageRoute("user", ("bob",)): answers.user_page,
    PageRoute("events"): answers.events_page,
}
CLUSTER = PageRoute()
ROUTES = st.sampled_from(sorted(PAGES))
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def load(answer: object, route: PageRoute = CLUSTER) -> ScreenState:
    return ScreenState(route.decode(msgspec.json.encode(answer)))


def screen(state: UiState, seen: ScreenState, columns: int = 80, rows: int = 24) -> list[Line]:
    return render_screen(state, seen, build_page(state, seen, columns, rows), columns, rows)


def shown(route: PageRoute = CLUSTER, columns: int = 80, rows: int = 24, **given: Any) -> str:
    state = UiState((Visit(route, **given),))
    return "\n".join(
        plain(line, TerminalStyle()) for line in screen(state, load(PAGES[route](), route), columns, rows)
    )


def test_cluster_fits_a_small_terminal_with_everything_that_matters() -> None:
    text = shown()
    assert "1 thing needs you. 12 of 16 GPUs held, 8 working." in text
    assert "15 of 16 GPUs   12 held   power: ░ no source" in text
    assert "X  the GPU fell off the bus (XID 79)  gpu02:3  10m" in text
    assert "gpu01 AAAAAAAA  gpu02 bbbX····  cpu01 cpu 90%" in text
    assert "A  1    train-1  ada      8  2h   ▉▉▉▉▓▓▓▒" in text
    assert "3    train-3  ada     64  3h   Priority" in text
    assert "check the card's seating, then reboot gpu02" in text
    assert "? help  q quit" in text


def test_every_measure_draws_what_is_known_and_hatches_what_is_not() -> None:
    tiles = {}
    for number, measure in enumerate(MEASURES):
        state = UiState(measure=number)
        lines = [plain(line, TerminalStyle()) for line in screen(state, load(answers.cluster()))]
        tiles[measure.name] = next(line for line in lines if line.startswith("  gpu01")).split()[1:4]
    assert tiles == {
        "holder": ["AAAAAAAA", "gpu02", "bbbX····"],
        "busy": ["████████", "gpu02", "▁▁▁X▁▁▁▁"],
        "SM": ["▅▅▅▅▅▅▅▅", "gpu02", "▁▁▁X░░░░"],
        "memory": ["▇▇▇▇▇▇▇▇", "gpu02", "▇▇▇X▁▁▁▁"],
        "power": ["████████", "gpu02", "███X▁▁▁▁"],
        "temperature": ["▅▅▅▅▅▅▅▅", "gpu02", "▅▅▅X▁▁▁▁"],
        "health": ["········", "gpu02", "···X····"],
    }


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (
            PageRoute("node", ("gpu02",)),
            ["Node gpu02", "gpu02:3", "gpu 0, 954 MiB", "rapl", "only root may read it", "1d1h"],
        ),
        (
            PageRoute("gpu", ("gpu02", "3")),
            ["GPU gpu02:3", "XID 79, fallen", "remapped rows", "train-2", "gpu02:0"],
        ),
        (PageRoute("job", ("1",)), ["Job 1  train-1", "Rank 5 is slow.", "1.2 GHz", "clock", "limit 1d"]),
        (PageRoute("user", ("bob",)), ["User bob", "scancel 2", "train-2", "gpu02:3"]),
    ],
    ids=lambda value: value.kind if isinstance(value, PageRoute) else "",
)
def test_page_says_what_there_is(route: PageRoute, words: list[str]) -> None:
    text = shown(route, rows=60)
    for word in words:
        assert word in text


def test_cluster_says_how_to_reach_what_it_has_no_room_for_and_events_lists_everything() -> None:
    seen = load(answers.cluster() | {"incidents_more": 2})
    assert "Needs attention  and 2 more: e" in "\n".join(
        plain(line, TerminalStyle()) for line in screen(UiState(), seen)
    )
    text = shown(PageRoute("events"))
    assert "9 things need you." in text
    assert "gpu02:8" in text
    assert "a link flapped" in text
    assert "nothing matches" in shown(PageRoute("events"), words="nobody")


def test_odd_rank_comes_with_the_jobs_median() -> None:
    assert "clock 1.2 GHz, the job's median 2.0 GHz" in shown(
        PageRoute("job", ("1",)), chosen="rank:5:gpu01:5"
    )


def test_filter_leaves_what_has_all_its_words() -> None:
    text = shown(words="BOB train")
    assert "gpu02" in text
    assert "gpu01 " not in text
    assert "no node matches" in shown(words="nobody")


def test_lost_server_is_one_line_and_what_was_known_stays() -> None:
    seen = ScreenState(load(answers.cluster()).answer, "http://n1:8000: Connection refused", answers.NOW)
    lines = [plain(line, TerminalStyle()) for line in screen(UiState(), seen)]
    assert lines[0].endswith("lost")
    assert "gpu01 AAAAAAAA" in "\n".join(lines)
    assert lines[-1].startswith("no answer since ")
    assert sum("Connection refused" in line for line in lines) == 1


def test_page_of_another_moment_says_so() -> None:
    state = UiState((Visit(PageRoute(at="1794808200")),))
    assert "not now (t: now)" in plain(screen(state, load(answers.cluster()))[0], TerminalStyle())


def test_plain_look_is_ascii_of_the_same_width() -> None:
    for route, answer in PAGES.items():
        state = UiState((Visit(route),))
        for line in screen(state, load(answer(), route), 120, 60):
            drawn = encode_line(line, TerminalStyle(colour=False, ascii=True))
            assert drawn.isascii()
            assert len(plain(line, TerminalStyle(ascii=True))) <= 120


def test_cluster_without_gpus_shows_its_nodes_by_cpu() -> None:
    answer = answers.cluster() | {"nodes": [answers.node("n1", []), answers.node("n2", [], cpu=None)]}
    text = "\n".join(plain(line, TerminalStyle()) for line in screen(UiState(), load(answer)))
    assert "Nodes  no GPUs are known" in text
    assert "n1 cpu 31%  n2 cpu ░" in text
    empty = answer | {"nodes": []}
    assert "vigie nodes join" in "\n".join(
        plain(line, TerminalStyle()) for line in screen(UiState(), load(empty))
    )


def test_help_fits_a_small_terminal() -> None:
    assert len(HELP) <= 17
    assert max(map(len, HELP)) <= 80


def test_without_colour_the_choice_is_still_marked() -> None:
    lines = [
        encode_line(line, TerminalStyle(colour=False)) for line in screen(UiState(), load(answers.cluster()))
    ]
    assert sum("7m" in line for line in lines) == 1
    assert not any("31m" in line or "33m" in line for line in lines)


def test_everything_is_printed_once_without_keys() -> None:
    state, seen = UiState(), load(answers.cluster())
    lines = [
        plain(line, TerminalStyle()) for line in render_all(state, seen, build_page(state, seen, 80, 0), 80)
    ]
    assert lines[-1].split() == ["3", "train-3", "ada", "64", "3h", "Priority"]


@settings(max_examples=60, deadline=None)
@given(
    ROUTES,
    st.integers(1, 250),
    st.integers(1, 80),
    st.lists(st.sampled_from(["down", "right", "tab", "m", "?"])),
)
def test_screen_is_exactly_as_high_and_never_wider_than_the_terminal(
    route: PageRoute, columns: int, rows: int, keys: list[str]
) -> None:
    state, seen = UiState((Visit(route),)), load(PAGES[route](), route)
    for key in keys:
        state = handle_key(state, key, build_page(state, seen, columns, rows), rows)
    lines = screen(state, seen, columns, rows)
    assert len(lines) == rows
    assert all(length(line) <= columns for line in lines)


@settings(max_examples=80, deadline=None)
@given(ROUTES, st.data(), st.integers(1, 120))
def test_odd_answer_is_refused_or_drawn_without_harm(
    route: PageRoute, data: st.DataObject, columns: int
) -> None:
    answer = copy.deepcopy(PAGES[route]())
    spoil(answer, data)
    try:
        state = load(answer, route)
    except msgspec.DecodeError:
        return
    lines = screen(UiState((Visit(route),)), state, columns, 50)
    assert all(length(line) <= columns for line in lines)
    assert not any(
        char in encode_line(line, TerminalStyle(colour=False)).replace("\x1b[", "")
        for line in lines
        for char in "\x1b\n\x07"
    )


def spoil(value: Any, data: st.DataObject) -> None:
    """Replace something deep within by a text, or by garbage."""
    while True:
        keys = sorted(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(value[key], dict | list) and value[key] and data.draw(st.integers(0, 3)):
            value = value[key]
        else:
            value[key] = data.draw(TEXT if isinstance(value[key], str) else GARBAGE)
            return


@pytest.mark.parametrize("route", PAGES, ids=str)
def test_field_of_a_newer_server_breaks_nothing(route: PageRoute) -> None:
    def extend(value: Any) -> Any:
        if isinstance(value, list):
            return [extend(part) for part in value]
        if isinstance(value, dict):
            return {name: extend(part) for name, part in value.items()} | {"newer": "x"}
        return value

    plain_page, extended = PAGES[route](), extend(PAGES[route]())
    for loose in ("labels", "where", "medians", "errors", "inventory", "expected"):
        assert loose not in plain_page or loose in extended
    assert route.decode(msgspec.json.encode(extended | {"medians": {}, "errors": {}})).at_ms == answers.NOW


@given(GARBAGE)
@settings(deadline=None)
def test_answer_that_is_nothing_of_the_kind_is_refused(answer: object) -> None:
    for route in PAGES:
        with pytest.raises(msgspec.DecodeError):
            load(answer, route)
