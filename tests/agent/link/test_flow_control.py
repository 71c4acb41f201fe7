"""The backlog goes as fast as the server takes it, and no faster."""

from __future__ import annotations

from vigie.agent.link.flow_control import HOLD_SECONDS, MAX_WINDOW, FlowControl


def opened() -> FlowControl:
    """Return the pace of a connection on which a live entry came through."""
    pace = FlowControl(0.0)
    pace.record_live(1, 0.0)
    pace.acknowledge(1, 0.5)
    return pace


def sent_and_acknowledged(pace: FlowControl, begin: int, delay: float) -> int:
    """Send as much as may be, have it acknowledged, and return the next sequence."""
    number = begin
    while pace.may_send:
        pace.record_sent(number, 0.0)
        number += 1
    pace.acknowledge(number - 1, delay)
    return number


def test_quick_server_gets_more_up_to_a_bound_and_a_slow_one_less_down_to_one() -> None:
    pace, number, windows = opened(), 1, []
    for delay in [0.2] * 10 + [2.0] * 3 + [9.0] * 8:
        number = sent_and_acknowledged(pace, number, delay)
        windows.append(pace.window)
    assert windows[:5] == [2, 4, 8, 16, 32]
    assert windows[9:13] == [MAX_WINDOW] * 4
    assert windows[-1] == 1


def test_nothing_more_is_sent_until_something_is_acknowledged() -> None:
    pace = opened()
    pace.record_sent(5, 0.0)
    assert not pace.may_send
    pace.acknowledge(4, 1.0)  # of live entries
    assert not pace.may_send
    pace.acknowledge(5, 1.0)
    assert pace.may_send


def test_backlog_begins_when_a_live_entry_came_through_in_good_time() -> None:
    pace = FlowControl(0.0)
    pace.record_live(1, 0.0)
    pace.acknowledge(1, 9.0)  # the server is busy
    assert not pace.may_send
    pace.record_live(2, 10.0)
    pace.acknowledge(2, 11.0)
    assert pace.may_send


def test_backlog_of_an_agent_that_has_nothing_live_begins_in_any_case() -> None:
    pace = FlowControl(0.0)
    pace.start_if_idle(HOLD_SECONDS - 1)
    assert not pace.may_send
    pace.start_if_idle(HOLD_SECONDS + 1)
    assert pace.may_send
