"""A forked child answers as the parent would have at the fork, while the parent goes on writing."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from tests.store.frames import EVERYTHING, NODE, Samples, answer, frame
from vigie.store.errors import StoreError
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store

SMALL = HeadLimits(head_rows=4, keep_ms=40, block_ms=100)
SENSORS = [str(i) for i in range(20)]


def plain(samples: Samples) -> list[object]:
    return [[sorted(key), sorted(samples[key].items())] for key in sorted(samples, key=sorted)]


class Ingest(threading.Thread):
    """Appends, syncs and maintains for ever; so do late frames come."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store, self.stop, self.steps = store, threading.Event(), 0

    def run(self) -> None:
        while not self.stop.is_set():
            self.steps += 1
            time = self.steps * 10
            self.store.append(NODE, frame(time, SENSORS, [float(time + i) for i in range(40)]))
            if self.steps % 7 == 0:
                self.store.append(NODE, frame(time - 155, SENSORS, [float(i) for i in range(40)]))
            self.store.sync()
            if self.steps % 3 == 0:
                self.store.maintain(time)


def in_child(store: Store, until: int) -> tuple[list[object], list[object]]:
    """Return what the parent says within `still`, and what the child says a while later."""
    outlet, inlet = os.pipe()
    with store.fork_lock():
        expected = plain(answer(store))
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                store.after_fork()
                os.read(until, 1)  # the parent has gone on meanwhile
                with os.fdopen(inlet, "w") as pipe:
                    json.dump(plain(answer(store)), pipe)
                with pytest.raises(StoreError):
                    store.sync()
                code = 0
            finally:
                os._exit(code)
    os.close(inlet)
    return expected, [pid, outlet]


def test_child_forked_in_the_midst_of_ingest_answers_like_the_parent_at_that_moment(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=SMALL, segment_bytes=5000) as store:
        ingest = Ingest(store)
        ingest.start()
        try:
            for number in range(1, 5):
                while ingest.steps < 12 * number:
                    ingest.stop.wait(0.001)
                waiting, go = os.pipe()
                expected, (pid, outlet) = in_child(store, waiting)
                later = ingest.steps + 20
                while ingest.steps < later:
                    ingest.stop.wait(0.001)
                os.write(go, b"x")
                with os.fdopen(int(str(outlet))) as pipe:
                    found = json.load(pipe)
                assert os.waitpid(int(str(pid)), 0)[1] == 0
                os.close(waiting)
                os.close(go)
                assert found == json.loads(json.dumps(expected))
        finally:
            ingest.stop.set()
            ingest.join()
        assert store.check() == []


def test_appends_go_on_while_a_fork_waits_for_a_commit_of_rollups(tmp_path: Path) -> None:
    with Store(tmp_path) as store:

        def fork() -> None:
            with store.fork_lock():
                pass

        for tier in store._rollups.tiers:
            with tier.blocks.transaction():
                forking = threading.Thread(target=fork)
                forking.start()
                while not store._blocks.database.write_lock._lock.locked():
                    threading.Event().wait(0.001)
                appending = threading.Thread(target=store.append, args=(NODE, frame(10, SENSORS, [1.0] * 40)))
                appending.start()
                appending.join(30)
                assert not appending.is_alive()
            forking.join()


def test_weight_is_at_least_what_select_reads(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=SMALL) as store:
        for time in range(0, 1000, 10):
            store.append(NODE, frame(time, SENSORS, [float(time)] * 40))
            store.maintain(time)
        for start, end in ((0, 999), (500, 600), (980, 999)):
            read = sum(group.values.size for group in store.select(EVERYTHING, start, end))
            assert read <= store.estimate_samples(EVERYTHING, start, end) <= read + 40 * 60
        assert store.estimate_samples(EVERYTHING, 5000, 6000) == 0
        assert store.estimate_samples(EVERYTHING, 0, 999, 10) > 10
