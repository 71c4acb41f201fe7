"""Bindings on the agent: a source says who holds what, and what begins and ends is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.sources import Hanging, reading, steady
from vigie.agent.bindings import FACT, FACTS, MAX_REPORTED, WORD, BindingTracker
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.model import Binding, Frame, Sample
from vigie.model.binding import SCHEDULER
from vigie.sources.core.host import MAX_BINDINGS, Host
from vigie.sources.core.source import Source, Unavailable
from vigie.wire.agent_series import HOLDER
from vigie.wire.bindings import (
    PART_ROWS,
    build_binding_message,
    build_held_messages,
    parse_binding,
)
from vigie.wire.messages import MAX_HELD_MESSAGES, MAX_MESSAGE, decode, encode


class Holders:
    """A source that says what it is told to."""

    def __init__(self) -> None:
        self.held: list[Binding] = []
        self.error: Exception | None = None

    @property
    def source(self) -> Source:
        return Source("holders", (), self._read)

    def _read(self, host: Host) -> Iterator[Sample]:
        if self.error:
            raise self.error
        for held in self.held:
            host.add_binding(held)
        yield from ()


class Scene:
    """A source of bindings, and what was told of it."""

    def __init__(self, *others: SourceReader) -> None:
        self.holders = Holders()
        self.reading = reading(self.holders.source)
        self.told: list[Binding] = []
        self.held: Sequence[Binding] | None = None
        self.holding = BindingTracker([self.reading, *others], [self])
        self._now = 0

    def replace_held(self, changes: Sequence[Binding], held: Sequence[Binding]) -> None:
        self.told, self.held = list(changes), held

    def tick(self, at: int, *held: Binding) -> list[Binding]:
        self.holders.held = list(held)
        self.told = []
        self.reading.read()
        self.holding(Frame(at, ()))
        return self.told


def gpu(index: int, job: str = "17", from_ms: int = 500, **facts: str) -> Binding:
    return Binding(f"gpu:{index}", "job", job, from_ms, user="ada", source="holders", facts=facts)


def test_beginning_and_end_are_told_once_each() -> None:
    scene = Scene()
    assert scene.tick(1000, gpu(0), gpu(1)) == [gpu(0), gpu(1)]
    assert scene.tick(2000, gpu(0), gpu(1)) == []
    assert scene.tick(3000, gpu(1)) == [gpu(0)._replace(to_ms=3000)]
    assert scene.held == (gpu(1),)


def test_one_of_unknown_beginning_begins_when_it_is_first_seen() -> None:
    scene = Scene()
    assert scene.tick(1000, gpu(0, from_ms=0)) == [gpu(0, from_ms=1000)]
    assert scene.tick(2000, gpu(0, from_ms=0)) == []


def test_same_holder_that_began_anew_is_another_binding() -> None:
    scene = Scene()
    scene.tick(1000, gpu(0))
    again = gpu(0, from_ms=9000)
    assert scene.tick(9500, again) == [gpu(0)._replace(to_ms=9000), again]


def test_one_that_comes_back_after_its_end_was_told_has_a_new_beginning() -> None:
    scene = Scene()
    scene.tick(1000, gpu(0))
    scene.tick(2000)
    assert scene.tick(3000, gpu(0)) == [gpu(0, from_ms=3000)]
    assert scene.tick(4000, gpu(0)) == []


def test_new_facts_are_told_under_the_same_beginning() -> None:
    scene = Scene()
    scene.tick(1000, gpu(0, from_ms=0))
    assert scene.tick(2000, gpu(0, from_ms=0, name="train")) == [gpu(0, from_ms=1000, name="train")]


def test_failing_source_ends_nothing_and_an_absent_one_everything() -> None:
    scene = Scene()
    scene.tick(1000, gpu(0))
    scene.holders.error = RuntimeError("broken")
    assert scene.tick(2000) == []
    scene.holders.error = Unavailable("Slurm was removed")
    assert scene.tick(3000) == [gpu(0)._replace(to_ms=3000)]


def test_nothing_is_told_before_every_source_was_asked() -> None:
    slow = Hanging("slow")
    scene = Scene(reading(slow.source))
    scene.tick(1000, gpu(0))
    assert scene.held is None


def test_source_without_samples_is_well_if_it_has_bindings() -> None:
    scene = Scene(reading(steady("other")))
    scene.holders.held = [gpu(0)]
    scene.reading.read()
    before = scene.reading.outcome
    scene.holders.held = []
    scene.reading.read()
    assert (before, scene.reading.outcome) == (Outcome.OK, Outcome.UNAVAILABLE)


def test_bindings_are_series_to_join_with_whose_table_changes_only_with_them() -> None:
    scene = Scene()
    scene.tick(1000, gpu(0))
    table, values = scene.holding.table()
    assert (table.series, values) == (((HOLDER, ("0", "gpu:0", "job", "17", "ada")),), (1.0,))
    assert scene.holding.table()[0] is table
    scene.tick(2000)
    assert scene.holding.table()[0].series == ()


def test_bindings_of_a_source_are_bounded_and_the_rest_is_noted() -> None:
    scene = Scene()
    scene.tick(1000, *(gpu(index) for index in range(MAX_BINDINGS + 5)))
    assert scene.held is not None
    assert len(scene.held) == MAX_BINDINGS <= MAX_REPORTED
    assert "dropped" in next(iter(scene.reading.host.notes.values()))


@pytest.mark.parametrize("long", [WORD, 100_000])
def test_long_words_are_cut_to_what_a_message_takes(long: int) -> None:
    scene = Scene()
    (told,) = scene.tick(1000, gpu(0, job="x" * long, command="y" * long))
    assert (len(told.holder), len(told.facts["command"])) == (WORD, FACT)
    assert decode(encode(build_binding_message(told, 1)))


def test_words_that_are_no_text_still_cross_the_link() -> None:
    scene = Scene()
    (told,) = scene.tick(1000, gpu(0, job="\udcff", command="\udc80"))
    assert decode(encode(build_binding_message(told, 1)))


def test_end_that_a_source_tells_itself_is_told_once_with_its_own_time() -> None:
    scene = Scene()
    scene.tick(1000, gpu(0))
    over = gpu(0, state="FAILED")._replace(to_ms=1500)
    assert scene.tick(3000, over) == [over]
    assert scene.tick(4000, over) == []
    assert scene.held == ()


def test_what_began_and_ended_between_two_reads_is_told_as_one() -> None:
    scene = Scene()
    short = gpu(0)._replace(to_ms=800)
    assert scene.tick(1000, short) == [short]
    later = gpu(0, from_ms=900)
    assert scene.tick(2000, short, later) == [later]


def test_what_another_node_holds_is_told_with_its_names_and_is_no_series_here() -> None:
    scene = Scene()
    elsewhere = gpu(0, "18")._replace(node_names=("n7", "host7"))
    assert scene.tick(1000, gpu(0), elsewhere) == [gpu(0), elsewhere]
    assert [labels for _, labels in scene.holding.table()[0].series] == [("0", "gpu:0", "job", "17", "ada")]
    assert scene.holding.jobs() == {"gpu:0": ["17"]}


def test_word_of_the_scheduler_goes_before_that_of_processes() -> None:
    scheduler = Holders()
    scheduler.held = [gpu(0, from_ms=100, name="train")]
    slurm = reading(scheduler.source._replace(name=SCHEDULER))
    slurm.read()
    scene = Scene(slurm)
    scene.tick(1000, gpu(0))
    assert scene.held == (gpu(0, from_ms=100, name="train")._replace(source=SCHEDULER),)


def test_much_that_is_held_is_told_in_messages_below_the_limit() -> None:
    fact = {f"fact{place}": "x" * FACT for place in range(FACTS)}
    held = [gpu(place)._replace(facts=fact) for place in range(MAX_REPORTED)]
    told = build_held_messages(held)
    assert [len(one.bindings) for one in told] == [PART_ROWS] * (MAX_REPORTED // PART_ROWS)
    assert [one.more for one in told] == [True] * (len(told) - 1) + [False]
    assert max(len(encode(one)) for one in told) < MAX_MESSAGE
    assert len(told) <= MAX_HELD_MESSAGES


words = st.text(max_size=50)


@given(
    st.builds(
        Binding,
        words,
        words,
        words,
        st.integers(-(1 << 61), 1 << 61),
        st.none() | st.integers(0, 1 << 61),
        words,
        words,
        st.dictionaries(words, words, max_size=4),
        st.lists(words, max_size=4).map(tuple),
    )
)
def test_any_binding_crosses_the_link_unchanged(binding: Binding) -> None:
    message = decode(encode(build_binding_message(binding, 7)))
    assert parse_binding(message) == binding  # type: ignore[arg-type]
