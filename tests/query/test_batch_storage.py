"""Queries of one batch give the same results as each of them alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.query.test_block_batches import NOW, STEP, Scanned, groups
from vigie.query.batch_storage import batch_reads
from vigie.query.engine import LOOKBACK_MS, Engine
from vigie.query.errors import TooManySamplesError
from vigie.query.label_table import ConcatLabelTable, LabelTable, MatrixLabelTable
from vigie.query.parser.parse import parse
from vigie.query.storage import Labels, Load, Matcher, RollupGroup, SeriesGroup
from vigie.query.subexpression_cache import SubexpressionCache
from vigie.query.vectors import Vector

QUESTIONS = (
    "m",
    "other",
    '{__name__=~"m|other"}',
    'm{n="1"}',
    "avg_over_time(m[5m])",
    "avg_over_time(m[5m:])",
    "max_over_time(other[9m])",
    "max_over_time(m[20m])",
    "m offset 2m",
    "m offset 119500ms",
    "m offset 119600ms",
    "sum by (node) (m)",
    "m * on (node, n) group_left () other",
    "m + on (node, n) other",
    "m - other",
    "m > 3 and on (node) other",
    "m unless on (node) (other > 9)",
    "(m > 1e9) and on (node) other",
    "m or other",
    "max_over_time((sum by (node) (m))[10m:1m])",
    "count(m) / count(other)",
    "none * m",
)


class Columns(MatrixLabelTable):
    """The labels of a group as columns."""

    @classmethod
    def of(cls, labels: Sequence[Labels]) -> Columns:
        names = sorted({name for each in labels for name in each})
        values = {name: sorted({each.get(name, "") for each in labels}) for name in names}
        return cls(
            {
                name: (values[name], np.array([values[name].index(each.get(name, "")) for each in labels]))
                for name in names
            },
            len(labels),
        )


class Counting(Scanned):
    """Gives label sets as columns, and counts its reads."""

    def __init__(self, groups: Iterable[SeriesGroup]) -> None:
        super().__init__(list(groups))
        self.scans = 0

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        return [
            each._replace(labels=Columns.of(each.labels)) for each in super().select(matchers, start, end)
        ]

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        self.scans += 1
        return super().scan(matchers, start, end)

    def raw_since(self) -> int:
        return 0

    def rollup_widths(self) -> Sequence[int]:
        return ()

    def rollups_since(self, *_: int) -> int:
        return 0

    def rollups(self, *_: object) -> Iterator[RollupGroup]:
        return iter(())


def both() -> list[SeriesGroup]:
    """Return two metrics in the same groups, as a node gives them."""
    made = []
    for labels, times, values in groups():
        more = [*labels, *({**each, "__name__": "other"} for each in labels[:2])]
        made.append(SeriesGroup(more, times, np.concatenate([values, values[:2][::-1]])))
    return made


def numbers(found: tuple[NDArray[np.int64], Vector]) -> dict[tuple[tuple[str, str], ...], list[str]]:
    _, vector = found
    rows = zip(vector.labels, np.where(vector.present, vector.values, -1.0).tolist(), strict=True)
    return {tuple(sorted(labels.items())): [f"{value:.12g}" for value in row] for labels, row in rows}


def test_batch_answers_as_each_query_alone() -> None:
    plain, store = Scanned(both()), Counting(both())
    trees = [parse(query) for query in QUESTIONS]
    engine = Engine(batch_reads(store, trees, NOW, LOOKBACK_MS, 1_000_000), shared=SubexpressionCache(trees))
    for query in QUESTIONS:
        alone = Engine(plain).vector(query, NOW, NOW, 0)
        assert numbers(engine.vector(query, NOW, NOW, 0)) == numbers(alone), query


def test_batch_over_steps_answers_as_each_query_alone() -> None:
    plain, engine = (
        Engine(Scanned(both())),
        Engine(Counting(both()), shared=SubexpressionCache(map(parse, QUESTIONS))),
    )
    for query in QUESTIONS:
        span = NOW - 10 * STEP, NOW, 2 * STEP
        assert numbers(engine.vector(query, *span)) == numbers(plain.vector(query, *span)), query


def test_queries_that_need_the_same_streams_read_them_once() -> None:
    store = Counting(both())
    trees = [parse(query) for query in ("m", "other", "avg_over_time(m[5m])", "none")]
    engine = Engine(batch_reads(store, trees, NOW, LOOKBACK_MS, 1_000_000))
    for query in ("m", "other", "avg_over_time(m[5m])", "none"):
        engine.vector(query, NOW, NOW, 0)
    assert store.scans == 1


def test_what_is_read_together_is_bounded() -> None:
    trees = [parse("m"), parse("other")]
    engine = Engine(batch_reads(Counting(both()), trees, NOW, LOOKBACK_MS, 10))
    with pytest.raises(TooManySamplesError):
        engine.vector("m", NOW, NOW, 0)


def test_expression_of_two_queries_is_evaluated_once() -> None:
    store = Counting(both())
    queries = ("sum by (node) (m) > 3", "sum by (node) (m) < 3")
    engine = Engine(store, shared=SubexpressionCache(map(parse, queries)))
    for query in queries:
        engine.vector(query, NOW, NOW, 0)
    assert store.scans == 1


def test_side_that_cannot_change_the_answer_is_not_read() -> None:
    store = Counting(both())
    query = "(m > 1e9) and on (node) (other > 0)"
    Engine(store, shared=SubexpressionCache([])).vector(query, NOW, NOW, 0)
    assert store.scans == 1
    Engine(store).vector(query, NOW, NOW, 0)
    assert store.scans == 3


def test_joined_labels_are_those_of_their_parts() -> None:
    lists = [group.labels for group in both()]
    plain = [dict(labels) for part in lists for labels in part]
    whole = ConcatLabelTable.of([Columns.of(part) for part in lists])
    rows = np.array([5, 0, 9, len(plain) - 1])
    _same(whole, plain)
    _same(whole.take(rows), [plain[row] for row in rows.tolist()])
    few = whole.take(rows).without(("node",))
    _same(few, [{name: v for name, v in plain[row].items() if name != "node"} for row in rows.tolist()])
    _same(
        ConcatLabelTable.of([whole.take(rows), whole.take(rows[:2])]),
        [plain[i] for i in [5, 0, 9, len(plain) - 1, 5, 0]],
    )


def _same(labels: LabelTable, wanted: list[dict[str, str]]) -> None:
    assert [dict(each) for each in labels] == wanted
    assert [dict(labels[place]) for place in range(len(labels))] == wanted
    for name in ("__name__", "node", "n", "none"):
        values, codes = labels.column(name)
        places = [0] * len(labels) if codes is None else codes.tolist()
        assert [values[place] for place in places] == [each.get(name, "") for each in wanted]
