"""The engine over the store answers as over a plain list of the same samples."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.store.frames import Model, frame
from vigie.model.nan import float_from_bits
from vigie.query.engine import Engine, QueryResult
from vigie.query.errors import TooManySamplesError
from vigie.query.limits import QueryLimits
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
    "power_watts * 2 > 30",
    "3 - power_watts",
    "sum without (sensor) (temperature_celsius - 40)",
    "avg by (sensor, nothing) (abs(deriv(power_watts[5m])))",
    "stddev by (instance) (temperature_celsius)",
    "stdvar(irate(power_watts[2m]))",
    "min without (instance, job) (power_watts) + max by (sensor) (power_watts)",
    'group by (job) (last_over_time(power_watts{sensor="d"}[1m]))',
    "count without () (temperature_celsius)",
    "topk by (instance) (1, sum by (instance, sensor) (increase(power_watts[3m])))",
    'quantile_over_time(0.5, power_watts{sensor="a"}[4m])',
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


def _plain(answer: QueryResult) -> list[tuple[object, ...]]:
    rows = [
        # Sums may be taken in another order, and NaN is not equal to itself.
        (sorted(s.labels.items()), s.times.tolist(), [f"{value:.12g}" for value in s.values])
        for s in answer.series
    ]
    return sorted(rows, key=repr)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, MemoryStorage]]:
    """Yield a store that was read back from log and blocks, and a list of the same samples."""
    model = Model()
    folder = tmp_path_factory.mktemp("queries")
    with Store(folder) as store:
        _fill(store, model)
    memory = MemoryStorage()
    for key, samples in model.answer().items():
        memory.add(dict(key), list(samples), [float_from_bits(bits) for bits in samples.values()])
    with Store(folder) as store:
        yield store, memory


@pytest.mark.parametrize("query", QUERIES)
def test_engine_over_the_store_answers_as_over_a_list(query: str, both: tuple[Store, MemoryStorage]) -> None:
    end = START + STEPS * STEP
    ours, plain = Engine(both[0]), Engine(both[1])
    over_range = _plain(ours.range(query, START, end, 60_000))
    assert over_range
    assert over_range == _plain(plain.range(query, START, end, 60_000))
    assert _plain(ours.instant(query, end - 90_000)) == _plain(plain.instant(query, end - 90_000))


def test_aggregation_holds_only_a_few_nodes_at_a_time(both: tuple[Store, MemoryStorage]) -> None:
    end = START + STEPS * STEP
    one_node = 4 * STEPS + 4 * 31
    for query in ("sum(power_watts)", "max by (sensor) (abs(rate(power_watts[2m])) * 3)"):
        Engine(both[0], QueryLimits(samples=one_node)).range(query, START, end, 60_000)
        with pytest.raises(TooManySamplesError):
            Engine(both[1], QueryLimits(samples=one_node)).range(query, START, end, 60_000)
        with pytest.raises(TooManySamplesError):
            Engine(both[0], QueryLimits(samples=one_node // 2)).range(query, START, end, 60_000)
