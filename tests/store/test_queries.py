"""The engine over the store answers as over a plain list of the same samples."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.store.frames import Model, frame
from vigie.model.values import from_bits
from vigie.query.engine import Answer, Engine
from vigie.simulation.memory_storage import MemoryStorage
from vigie.store.store import Store

START, STEP, STEPS = 1_700_000_000_123, 15_000, 120
QUERIES = [
    "power_watts",
    'sum by (instance) (rate(power_watts{sensor!="a"}[2m]))',
    "max_over_time(temperature_celsius[5m]) - min_over_time(temperature_celsius[5m])",
    "count(power_watts) by (sensor) or vector(7)",
    'quantile(0.9, temperature_celsius{instance=~"n[12]"}) / on() group_left() scalar(avg(power_watts))',
    "changes(power_watts[10m:30s] offset 1m)",
    'absent(power_watts{instance="none"})',
]


def _fill(store: Store, model: Model) -> None:
    """Three nodes whose sensors come and go, with gaps and with frames that come late."""
    choice = random.Random(7)
    late = []
    for n in range(STEPS):
        for node in ("n1", "n2", "n3"):
            sensors = [s for s in "abcd" if s != "d" or n > 60]
            given = frame(START + n * STEP, sensors, [choice.random() * n for _ in range(2 * len(sensors))])
            labels = {"instance": node, "job": "node"}
            if node == "n3" and n % 10 in (4, 5, 6):
                continue
            model.append(labels, given)
            if choice.random() < 0.1:
                late.append((labels, given))
            else:
                store.append(labels, given)
        if n == STEPS // 2:
            store.flush()
    for labels, given in late:
        store.append(labels, given)
    store.sync()


def _plain(answer: Answer) -> list[tuple[object, ...]]:
    rows = [
        # Sums may be taken in another order, and NaN is not equal to itself.
        (sorted(s.labels.items()), s.times.tolist(), [f"{value:.12g}" for value in s.values])
        for s in answer.series
    ]
    return sorted(rows, key=repr)


@pytest.mark.parametrize("query", QUERIES)
def test_engine_over_the_store_answers_as_over_a_list(query: str, tmp_path: Path) -> None:
    model = Model()
    with Store(tmp_path) as store:
        _fill(store, model)
    memory = MemoryStorage()
    for key, samples in model.answer().items():
        memory.add(dict(key), list(samples), [from_bits(bits) for bits in samples.values()])
    end = START + STEPS * STEP
    with Store(tmp_path) as store:  # read back from log and blocks
        for storage in (store, memory):
            assert Engine(storage).range(query, START, end, 60_000).series
        ours, plain = Engine(store), Engine(memory)
        assert _plain(ours.range(query, START, end, 60_000)) == _plain(plain.range(query, START, end, 60_000))
        assert _plain(ours.instant(query, end - 90_000)) == _plain(plain.instant(query, end - 90_000))
