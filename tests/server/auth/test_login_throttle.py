"""Failed sign-ins: bounded for each address and each account, in bounded memory."""

from __future__ import annotations

from vigie.server.auth import login_throttle
from vigie.server.auth.login_throttle import KEPT, OF_AN_ACCOUNT, OF_AN_ADDRESS, SECONDS, LoginThrottle


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_address_that_failed_too_often_waits_and_others_do_not() -> None:
    clock = Clock()
    bound = LoginThrottle(clock)
    for _ in range(OF_AN_ADDRESS):
        assert bound.wait("10.0.0.1", "ada") == 0
        bound.tries("10.0.0.1", "ada")
    assert 0 < bound.wait("10.0.0.1", "bob") <= SECONDS + 1
    assert bound.wait("10.0.0.2", "ada") == 0
    clock.now += SECONDS
    assert bound.wait("10.0.0.1", "ada") == 0


def test_account_that_is_guessed_from_everywhere_is_closed_for_a_while() -> None:
    bound = LoginThrottle(Clock())
    for number in range(OF_AN_ACCOUNT):
        bound.tries(f"10.0.{number}.1", "admin")
    assert bound.wait("10.1.0.1", "admin") > 0
    assert bound.wait("10.1.0.1", "ada") == 0


def test_own_success_does_not_wash_failures_off() -> None:
    bound = LoginThrottle(Clock())
    for _ in range(OF_AN_ADDRESS):
        bound.tries("10.0.0.1", "admin")
        bound.tries("10.0.0.1", "mine")
        bound.succeeded("10.0.0.1", "mine")
    assert bound.wait("10.0.0.1", "mine") > 0


def test_network_of_64_bits_counts_as_one_client() -> None:
    bound = LoginThrottle(Clock())
    for number in range(OF_AN_ADDRESS):
        bound.tries(f"2001:db8::{number:x}", "ada")
    assert bound.wait("2001:db8::ffff:1", "ada") > 0
    assert bound.wait("2001:db8:0:1::1", "ada") == 0
    assert bound.wait("::ffff:10.0.0.1", "ada") == 0


def test_memory_is_bounded_whatever_strangers_send() -> None:
    bound = LoginThrottle(Clock())
    for number in range(KEPT):
        bound.tries(f"stranger {number}" * 100, f"name {number}" * 100)
    assert len(bound._failures) <= KEPT
    assert max(len(text) for key in bound._failures for text in key) <= 64
    assert login_throttle.SECONDS > 0


def test_wait_is_news_once_for_as_long_as_it_lasts() -> None:
    clock = Clock()
    bound = LoginThrottle(clock)
    for _ in range(2):
        for _ in range(OF_AN_ADDRESS):
            assert not bound.news("10.0.0.1", "ada")
            bound.tries("10.0.0.1", "ada")
        assert [bound.news("10.0.0.1", "ada") for _ in range(3)] == [True, False, False]
        clock.now += SECONDS
