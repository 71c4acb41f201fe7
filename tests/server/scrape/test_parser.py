"""The text formats, read as Prometheus reads them, and as quickly as an unchanging exporter allows."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vigie.model import Metric, format_series
from vigie.model.nan import NAN_BITS, float_to_bits, is_absent
from vigie.model.table import Series
from vigie.server.scrape.parser import ScrapedSamples, ScrapeParser
from vigie.server.scrape.series_cache import LabelPolicy, ScrapeCache
from vigie.wire.exposition.line_parser import MAX_LINE, ParseError

Told = dict[tuple[str, frozenset[tuple[str, str]]], float]

HISTOGRAM = """\
# HELP took_seconds How long it took.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.1"} 3
took_seconds_bucket{le="+Inf"} 7
took_seconds_sum 4.5
took_seconds_count 7
# TYPE rpc summary
rpc{quantile="0.5"} 4.7e-05
rpc_sum 17
rpc_count 2
"""


def told(scraped: ScrapedSamples) -> Told:
    """Return the samples by series; absent ones are none."""
    found: Told = {}
    for _, table, values in scraped.layout.parts(scraped.row):
        for series, value in zip(table.series, values, strict=True):
            if not is_absent(value):
                found[_key(series)] = value
    return found


def _key(series: Series) -> tuple[str, frozenset[tuple[str, str]]]:
    metric, values = series
    return metric.name, frozenset(zip(metric.labels, values, strict=True))


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """Spell a series."""
    return name, frozenset(labels.items())


def parsed(text: str, *, openmetrics: bool = False) -> ScrapedSamples:
    """Parse a text that was never seen before."""
    return ScrapeParser(ScrapeCache()).parse(text.encode(), openmetrics=openmetrics)


def test_histograms_and_summaries_are_their_series() -> None:
    found = told(parsed(HISTOGRAM))
    assert found[key("took_seconds_bucket", le="+Inf")] == 7
    assert found[key("rpc", quantile="0.5")] == 4.7e-05
    assert len(found) == 7


@pytest.mark.parametrize(
    ("line", "name", "labels", "value"),
    [
        ("a 1", "a", {}, 1.0),
        ("a{} 1", "a", {}, 1.0),
        ("a\t1", "a", {}, 1.0),
        ("  a  { b = \"c\" , }\t 1 ", "a", {"b": "c"}, 1.0),
        ('a{b="c"}1', "a", {"b": "c"}, 1.0),
        ('a{b="x y",c="# 5"} 1', "a", {"b": "x y", "c": "# 5"}, 1.0),
        ('a{b="},{"} 1', "a", {"b": "},{"}, 1.0),
        (r'a{b="C:\\dir\n\"q\" \t"} 1', "a", {"b": 'C:\\dir\n"q" \\t'}, 1.0),
        ('a{b="日本"} 1', "a", {"b": "日本"}, 1.0),
        ('{"a.b"} 1', "a.b", {}, 1.0),
        ('{"a b",c="d","e.f"="g"} 1', "a b", {"c": "d", "e.f": "g"}, 1.0),
        (":a:b -0.5e-3", ":a:b", {}, -0.0005),
        ("a +Inf", "a", {}, math.inf),
        ("a -inf", "a", {}, -math.inf),
    ],
)  # fmt: skip
def test_sample_is_read_as_it_is_spelt(line: str, name: str, labels: Mapping[str, str], value: float) -> None:
    found = parsed(f"# a comment\n\n{line}\n")
    assert told(found) == {(name, frozenset(labels.items())): value}
    assert found.samples == 1


@pytest.mark.parametrize(
    "line",
    [
        "a", "a ", "1", "{} 1", '{"a","b"} 1', 'a{"b"} 1', "a{b} 1", "a{b=c} 1", 'a{b="c} 1', 'a{b="c"',
        'a{b="c"d="e"} 1', 'a{b="c",b="d"} 1', 'a{__name__="b"} 1', 'a{1b="c"} 1', 'a{""="b"} 1', "a{,} 1",
        'a{b="c",,} 1', "a-1", "a x", "a 1 2 3", "a 1 x", "a 1 1.5", "a 1 99999999999999999999", "a 1_000",
        "a \u0661", "a 0x10", "a 1e400", "a 1\r", "a\x0b1", "a 1\xa0", "a 1 # {} 1", "<html>",
    ],
)  # fmt: skip
def test_what_is_no_sample_is_an_error_that_shows_it(line: str) -> None:
    with pytest.raises(ParseError, match=r"\S"):
        parsed(f"good 1\n{line}\n")


def test_text_that_is_not_utf_8_is_an_error() -> None:
    with pytest.raises(ParseError, match="byte 5 is not text"):
        ScrapeParser(ScrapeCache()).parse(b'a{b="\xff"} 1\n')


def test_timestamps_are_milliseconds_in_text_and_seconds_in_openmetrics() -> None:
    text = parsed('a{b="c"} 1 1700000000123\nplain 2\n')
    assert [(one.value, one.time_ms) for one in text.timed] == [(1.0, 1_700_000_000_123)]
    assert told(text) == {key("plain"): 2.0}
    openmetrics = parsed('a{b="c"} 1 1700000000.123\n# EOF\n', openmetrics=True)
    assert [one.time_ms for one in openmetrics.timed] == [1_700_000_000_123]


def test_timestamps_stay_apart_when_the_series_is_known() -> None:
    parser = ScrapeParser(ScrapeCache())
    for step in range(3):
        found = parser.parse(f"a {step} {1000 + step}\nb 1\n".encode())
        assert [(one.value, one.time_ms) for one in found.timed] == [(step, 1000 + step)]
        assert told(found) == {key("b"): 1.0}


@pytest.mark.parametrize("again", ["a  5", "a\t5", " a 5 ", "a \t5", "a{} 5", "a 5\t", "\ta 5"])
def test_known_series_may_be_spelt_with_other_spaces(again: str) -> None:
    parser = ScrapeParser(ScrapeCache())
    parser.parse(b"a 1\n")
    found = parser.parse(f"{again}\n".encode())
    assert (told(found), found.timed) == ({key("a"): 5.0}, [])


@pytest.mark.parametrize("line", ["a 5 7", "a 5\t7", "a\t5 7", "a  5  7", "a \t5 7"])
def test_time_is_found_behind_any_spaces(line: str) -> None:
    parser = ScrapeParser(ScrapeCache())
    parser.parse(b"a 1\n")
    found = parser.parse(f"{line}\n".encode())
    assert [(one.value, one.time_ms) for one in found.timed] == [(5.0, 7)]


@pytest.mark.parametrize("line", ["a 5 ", "a 5", "a 5\t", "a  5"])
def test_time_that_is_given_no_more_is_missed_by_nobody(line: str) -> None:
    parser = ScrapeParser(ScrapeCache())
    for _ in range(2):
        assert len(parser.parse(b"a 1 7\nb 1\n").timed) == 1
        found = parser.parse(f"{line}\nb 1\n".encode())
        assert (told(found), found.timed) == ({key("a"): 5.0, key("b"): 1.0}, [])


def test_timestamps_can_be_ignored() -> None:
    found = ScrapeParser(ScrapeCache(), honor_times=False).parse(b"a 1 1000\n")
    assert told(found) == {key("a"): 1.0}
    assert found.timed == []


def test_exemplars_are_left_out() -> None:
    text = 'a_bucket{le="1"} 5 # {trace_id="x # y"} 0.67 1.5\nb_total 2 3 # {} 1\n# EOF\n'
    for _ in range(2):
        found = parsed(text, openmetrics=True)
        assert told(found) == {key("a_bucket", le="1"): 5.0}
        assert [(one.value, one.time_ms) for one in found.timed] == [(2.0, 3000)]


@pytest.mark.parametrize("text", ["", "a 1\n", "a 1\n# EOF", "# EOF\n", "a 1\n# EOF\n\n", "a 1 # EOF\n"])
def test_openmetrics_must_have_its_end_mark(text: str) -> None:
    if text in ("a 1\n# EOF", "# EOF\n"):
        parsed(text, openmetrics=True)
    else:
        with pytest.raises(ParseError, match="EOF"):
            parsed(text, openmetrics=True)


def test_nan_is_the_one_bit_pattern_of_a_real_nan() -> None:
    parser = ScrapeParser(ScrapeCache())
    for _ in range(2):  # read with care, and then quickly
        [value] = parser.parse(b"a NaN\n").row
        assert float_to_bits(value) == NAN_BITS


def test_first_of_two_equal_series_counts_and_both_are_samples() -> None:
    found = parsed("a 1\na 2\n")
    assert told(found) == {key("a"): 1.0}
    assert found.samples == 2


def test_unchanged_exporter_keeps_its_layout_in_whatever_order() -> None:
    parser = ScrapeParser(ScrapeCache())
    first = parser.parse(b"a 1\nb 2\nc 3\n")
    again = parser.parse(b"c 6\na 4\nb 5\n")
    assert again.layout is first.layout
    assert told(again) == {key("a"): 4.0, key("b"): 5.0, key("c"): 6.0}
    assert (first.added, again.added) == (3, 0)


def test_series_that_is_missing_is_absent_and_one_that_comes_is_added() -> None:
    parser = ScrapeParser(ScrapeCache())
    first = parser.parse(b"a 1\nb 2\nc 3\n")
    second = parser.parse(b"a 1\nc 3\n")
    assert second.layout is first.layout
    assert is_absent(second.row[1])
    assert parser.parse(b"a 1\nb 2\nc 3\n").added == 1
    more = parser.parse(b"a 1\nb 2\nc 3\nd 4\n")
    assert (more.added, len(more.layout)) == (1, 4)
    less = parser.parse(b"a 1\n")
    assert (less.added, len(less.layout)) == (0, 1)


def test_targets_that_say_the_same_share_their_layout() -> None:
    catalogue = ScrapeCache()
    layouts = [ScrapeParser(catalogue).parse(HISTOGRAM.encode()).layout for _ in range(2)]
    assert layouts[0] is layouts[1]


def test_catalogue_is_bounded() -> None:
    catalogue = ScrapeCache(most=10)
    parser = ScrapeParser(catalogue)
    for step in range(50):
        assert told(parser.parse(f'a{{b="{step}"}} {step}\n'.encode())) == {key("a", b=str(step)): step}
    assert len(catalogue.known) <= 10


def test_too_many_samples_are_an_error() -> None:
    with pytest.raises(ParseError, match=r"3 samples, and the bound is 2"):
        ScrapeParser(ScrapeCache()).parse(b"a 1\nb 1\n# x\nc 1\n", most=2)


def test_labels_that_replace_those_of_the_target_part_the_table() -> None:
    shelf = LabelPolicy("scrape x", frozenset({"job", "instance"}))
    found = ScrapeParser(ScrapeCache(), shelf).parse(b'a{job="j",x="y"} 1\na{x="y"} 2\nb{job="j"} 3\n')
    parts = {replaced: (table, values) for replaced, table, values in found.layout.parts(found.row)}
    assert parts[()][1] == (2.0,)
    table, values = parts[("job", "j"),]
    assert values == (1.0, 3.0)
    assert [_key(series) for series in table.series] == [key("a", x="y"), key("b")]


@given(st.binary(max_size=200), st.booleans())
@example(b'a{b="\\', False)
def test_any_bytes_give_samples_or_an_error(body: bytes, openmetrics: bool) -> None:
    _fair(body, openmetrics)


PIECES = st.sampled_from(
    ["a", "b1", "{", "}", '"', "\\", "\\n", "=", ",", " ", "\t", "\n", "#", "# EOF\n", "# TYPE a gauge\n",
     "1", "-2.5e3", "NaN", "+Inf", "1700000000000", 'x="y"', "\r", "_", "é", "\x00"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join), st.booleans())
def test_anything_like_an_exposition_gives_samples_or_an_error(text: str, openmetrics: bool) -> None:
    _fair(text.encode(), openmetrics)


def _fair(body: bytes, openmetrics: bool) -> None:
    parser = ScrapeParser(ScrapeCache())
    try:
        first = parser.parse(body, openmetrics=openmetrics)
    except ParseError:
        return
    second = parser.parse(body, openmetrics=openmetrics)
    assert list(map(float_to_bits, second.row)) == list(map(float_to_bits, first.row))
    assert second.timed == first.timed or any(one.value != one.value for one in first.timed)
    assert (second.samples, second.added) == (first.samples, 0)


NAMES = st.sampled_from(["a", "b", "_c", "Z9"])
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
LABELS = st.dictionaries(NAMES, TEXTS, max_size=2).map(lambda labels: frozenset(labels.items()))
NUMBERS = st.floats(allow_nan=False)


@given(st.dictionaries(st.tuples(NAMES, LABELS), NUMBERS, max_size=4))
def test_what_the_agent_would_write_is_read_back(samples: Told) -> None:
    parser = ScrapeParser(ScrapeCache())
    for values in (samples, {series: value / 2 for series, value in samples.items()}):
        text = "".join(f"{_spelt(*series)} {value}\n" for series, value in values.items())
        assert told(parser.parse(text.encode())) == values


def _spelt(name: str, pairs: frozenset[tuple[str, str]]) -> str:
    labels = dict(sorted(pairs))
    return format_series(Metric(name, "gauge", "", tuple(labels)), tuple(labels.values()))


SECRET = "hunter2"


@pytest.mark.parametrize("openmetrics", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        f"DB_PASSWORD={SECRET}",
        f"a {SECRET}",
        f"a 1 {SECRET}",
        f"a 1 {SECRET} # x",
        f'a{{{SECRET}="x",{SECRET}="y"}} 1',
        f"a{{{SECRET}}} 1",
        f'{{"{SECRET}}} 1',
        f"a 1e{SECRET}",
        f"root:{SECRET}:0:0",
        SECRET,
    ],
)
def test_error_says_where_and_quotes_nothing(line: str, openmetrics: bool) -> None:
    end = "# EOF\n" if openmetrics else ""
    with pytest.raises(ParseError, match=r"^line 3: ") as raised:
        ScrapeParser(ScrapeCache()).parse(
            f"# a comment\nb 1\n{line}\n{end}".encode(), openmetrics=openmetrics
        )
    assert SECRET not in str(raised.value)


def test_missing_end_mark_quotes_nothing() -> None:
    with pytest.raises(ParseError) as raised:
        ScrapeParser(ScrapeCache()).parse(SECRET.encode(), openmetrics=True)
    assert SECRET not in str(raised.value)


def test_far_too_many_samples_are_refused_before_they_are_split() -> None:
    parser = ScrapeParser(ScrapeCache())
    with pytest.raises(ParseError, match=r"scrape\.sample_limit"):
        parser.parse(b"a 1\n" * 21 + b"\xff", most=10)  # what is not text is not even looked at
    parser.parse(b"# a comment\n" * 100 + b"a 1\n", most=10)


def test_reading_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(ParseError, match="could not be read within"):
        ScrapeParser(ScrapeCache()).parse(b"a 1\n", seconds=-1)


def test_endless_line_is_refused() -> None:
    with pytest.raises(ParseError, match=f"longer than {MAX_LINE}"):
        ScrapeParser(ScrapeCache()).parse(b'a{b="' + b"x" * MAX_LINE + b'"} 1\n')
