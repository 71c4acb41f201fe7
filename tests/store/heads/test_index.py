from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vigie.model import gauge
from vigie.query.storage import Matcher
from vigie.store.corruption import CorruptionLog
from vigie.store.heads.index import Index
from vigie.store.heads.stream import HEAD_LIMITS, Stream
from vigie.store.series.layout import Layouts
from vigie.store.series.matcher import CompiledMatcher
from vigie.store.series.schema import extend_schema
from vigie.store.wal.records import StreamName

BUSY = gauge("busy_ratio", "How busy it is.", "gpu", "job_id")
FANS = gauge("fan_rpm", "How fast it turns.", "fan")
SERIES = (
    (BUSY, ("0", "")),
    (BUSY, ("1", "17")),
    (BUSY, ("10", "a\nb")),
    (FANS, ("0",)),
)


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, unique=True), max_size=8), st.data())
def test_names_of_streams_find_what_looking_at_every_stream_finds(
    names_of_streams: list[list[str]], data: st.DataObject
) -> None:
    index = Index()
    for number, names in enumerate(names_of_streams):
        stream = Stream(StreamName((("i", f"{number}"),), "s", True), Layouts(), HEAD_LIMITS, CorruptionLog())
        index.add(stream)
        index.add_schema(stream, extend_schema({name: frozenset({"__name__"}) for name in names}))
    pattern = data.draw(st.sampled_from(["a", "a|b", "a|b|c|d|e|f", "[a-c]", ".+", "a|", ".*", "x|y"]))
    operator = data.draw(st.sampled_from(["=", "=~", "!=", "!~"]))
    condition = CompiledMatcher(Matcher("__name__", operator, pattern))
    found = {one.target["i"] for one in index.find([Matcher("__name__", operator, pattern)])}
    fitting = {f"{i}" for i, names in enumerate(names_of_streams) if any(map(condition.test, names))}
    assert found >= fitting
    if condition.values is not None:
        assert found == fitting
