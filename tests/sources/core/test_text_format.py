from __future__ import annotations

import math

import pytest

from vigie.sources.core.text_format import parse


def _rows(text: str) -> list[tuple[str, dict[str, str], float]]:
    return [
        (name, dict(pairs), value) for family in parse(text).values() for name, pairs, value in family.rows
    ]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("a 1", ("a", {}, 1)),
        ("\ta:b_c1\t 1.5e3 ", ("a:b_c1", {}, 1500)),
        ("a{} 1", ("a", {}, 1)),
        ('a{b="c"}1', ("a", {"b": "c"}, 1)),
        ('a { b = "c" , d="}" , } +Inf', ("a", {"b": "c", "d": "}"}, math.inf)),
        (r'a{b="\\\"\n"} -0.5', ("a", {"b": '\\"\n'}, -0.5)),
        ("a 9007199254740993", ("a", {}, 9007199254740992.0)),
        ("a -Inf", ("a", {}, -math.inf)),
    ],
)
def test_a_sample_is_read(line: str, row: tuple[str, dict[str, str], float]) -> None:
    assert _rows(line + "\n") == [row]


def test_not_a_number_is_a_number_here() -> None:
    ((_, _, value),) = _rows("a NaN\n")
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a 1", "incomplete"),
        ("a 1 1700000000000\n", "timestamp"),
        ("a\n", "neither"),
        ("1a 1\n", "neither"),
        ("a one\n", "not a number"),
        ("a 1_000\n", "not a number"),
        ("a 1e999\n", "too large"),
        ('a{b="c} 1\n', "no label"),
        ("a{b=c} 1\n", "no label"),
        ("a{,} 1\n", "no label"),
        (r'a{b="\x"} 1' + "\n", "no label"),
        ('a{b="1",b="2"} 1\n', "label b"),
        ('a{__name__="b"} 1\n', "label __name__"),
        ("a 1\na 2\n", "line 2: duplicate series"),
        ('a 1\na{b=""} 2\n', "duplicate series"),
        ("# HELP a x\n# HELP a y\na 1\n", "second HELP"),
        ("# TYPE a gauge\n# TYPE a gauge\n", "after its first TYPE"),
        ("a 1\n# TYPE a gauge\n", "after its first TYPE"),
        ("# TYPE a number\n", "unknown type"),
        ("# TYPE\n", "without a metric name"),
        ("# TYPE h histogram\nh 1\n", "cannot have this series"),
        ("# TYPE h histogram\nh_bucket 1\n", "not a number"),
        ('# TYPE h histogram\nh_bucket{le="x"} 1\n', "not a number"),
        ("# TYPE s summary\ns 1\n", "cannot have this series"),
        ("a 1\r\n", "not a number"),
    ],
)
def test_a_text_with_one_fault_is_refused_whole(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


def test_help_and_type_are_kept_and_other_comments_ignored() -> None:
    family = parse("# just a comment\n#\n# HELP a Two\\nlines \\\\ here.\n# TYPE a Counter\na 1\n")["a"]
    assert (family.help, family.kind) == ("Two\nlines \\ here.", "counter")


def test_a_family_without_samples_is_none() -> None:
    assert parse("# HELP a Nothing.\n# TYPE a gauge\n") == {}


def test_the_parts_of_a_histogram_and_a_summary_belong_together() -> None:
    families = parse(
        "# TYPE h histogram\n"
        'h_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n'
        "# TYPE s summary\n"
        's{quantile="0.5"} 1\ns_sum 3\ns_count 2\n'
        "h_bucket_count 7\n"
    )
    assert {name: [row[0] for row in family.rows] for name, family in families.items()} == {
        "h": ["h_bucket", "h_sum", "h_count"],
        "s": ["s", "s_sum", "s_count"],
        "h_bucket_count": ["h_bucket_count"],
    }


def test_rows_with_the_same_label_names_are_of_one_metric() -> None:
    samples = parse('a{y="2",x="1"} 1\na{x="3",y="4"} 2\na{z="5"} 3\n')["a"].samples("Help.")
    assert [(metric.labels, labels) for metric, labels, _ in samples] == [
        (("x", "y"), ("1", "2")),
        (("x", "y"), ("3", "4")),
        (("z",), ("5",)),
    ]
    assert samples[0][0] is samples[1][0]
