"""Whatever the order of appends, syncs, flushes and restarts, a store says what a dictionary would."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.store.frames import EVERYTHING, Model, answer, frame
from vigie.model.nan import ABSENT_BITS, NAN_BITS, STALE_BITS, float_from_bits
from vigie.query.storage import Matcher
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store

TINY = HeadLimits(head_rows=3, keep_ms=5, block_ms=10)
nodes = st.sampled_from(["n1", "n2"]).map(lambda name: {"instance": name, "job": "node"})
sensors = st.lists(st.sampled_from("abcde"), unique=True, max_size=4)
special = st.sampled_from([NAN_BITS, STALE_BITS, ABSENT_BITS])
values = st.lists(special | st.integers(0, 2**64 - 1), min_size=8, max_size=8)
times = st.integers(0, 60)


class Stored(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.model = Model()
        self.now = 0
        self.store = self.opened()

    def opened(self) -> Store:
        return Store(self.directory, head_limits=TINY, segment_bytes=300)

    def take(
        self, node: dict[str, str], time: int, sensors: list[str], words: list[int], source: str
    ) -> None:
        numbers = [float_from_bits(word) for word in words[: 2 * len(sensors)]]
        one = frame(time, sensors, numbers, source)
        self.store.append(node, one)
        self.model.append(node, one)

    @rule(node=nodes, step=st.integers(1, 4), sensors=sensors, words=values, count=st.integers(1, 6))
    def append_newest(
        self, node: dict[str, str], step: int, sensors: list[str], words: list[int], count: int
    ) -> None:
        for _ in range(count):
            self.now += step
            self.take(node, self.now, sensors, words, "one")

    @rule(node=nodes, time=times, sensors=sensors, words=values, source=st.sampled_from(["one", "two"]))
    def append_anywhere(
        self, node: dict[str, str], time: int, sensors: list[str], words: list[int], source: str
    ) -> None:
        # Two tables with the same series would be joined, which the model does not know.
        self.take(node, time, [source[0] + sensor for sensor in sensors], words, source)

    @rule()
    def sync(self) -> None:
        self.store.sync()

    @rule()
    def flush(self) -> None:
        self.store.flush()

    @rule()
    def maintain(self) -> None:
        self.store.maintain(self.now)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = self.opened()
        assert self.store.corruption_reports == []

    @rule(name=st.sampled_from(["n1", "n2"]))
    def delete(self, name: str) -> None:
        self.store.delete([Matcher("instance", "=", name)])
        self.model.delete(name)

    @rule(start=times, length=st.integers(0, 30))
    def ask_about_a_while(self, start: int, length: int) -> None:
        self.ask(start, start + length)

    @rule(before=st.integers(0, 6), after=st.integers(0, 2))
    def ask_about_the_newest(self, before: int, after: int) -> None:
        self.ask(self.now - before, self.now + after)

    def ask(self, start: int, end: int) -> None:
        expected = self.model.answer(start, end)
        assert answer(self.store, EVERYTHING, start, end) == expected
        known = {frozenset(labels.items()) for labels in self.store.series(EVERYTHING, start, end)}
        with_values = {key for key, samples in expected.items() if set(samples.values()) != {STALE_BITS}}
        assert with_values <= known

    @invariant()
    def same_answers(self) -> None:
        assert answer(self.store) == self.model.answer()

    def teardown(self) -> None:
        assert self.store.check() == []
        self.store.close()
        shutil.rmtree(self.directory)


TestStored = Stored.TestCase
TestStored.settings = settings(max_examples=15, stateful_step_count=25)
