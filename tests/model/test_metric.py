from __future__ import annotations

import pytest

from vigie.model import Metric, counter, format_series, gauge, info, untyped


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("node_cpu_seconds_total", "seconds"),
        ("node_memory_MemFree_bytes", "bytes"),
        ("node_hwmon_temp_celsius", "celsius"),
        ("node_uname_info", ""),
        ("node_load1", ""),
    ],
)
def test_unit_is_what_the_name_spells(name: str, unit: str) -> None:
    assert gauge(name, "G.").unit == unit


def test_family_declares_its_members_and_no_others() -> None:
    row = untyped("node_zfs_arc_*", "The field * of the cache.")
    member = row.expand("hits")
    assert (member.name, member.help) == ("node_zfs_arc_hits", "The field hits of the cache.")
    assert row.matches("node_zfs_arc_hits")
    assert not row.matches("node_zfs_arc_")
    assert not row.matches("node_zfs_zil_hits")


def test_plain_row_declares_only_itself() -> None:
    assert counter("a_total", "A.").matches("a_total")
    assert not counter("a_total", "A.").matches("a_totals")


@pytest.mark.parametrize(
    ("name", "kind", "labels", "family"),
    [
        ("h_bucket", "histogram", ("le",), "h"),
        ("h_sum", "summary", (), "h"),
        ("h", "summary", ("quantile",), "h"),
        ("bytes_count", "gauge", (), "bytes_count"),
    ],
)
def test_parts_of_a_histogram_are_of_one_family(
    name: str, kind: str, labels: tuple[str, ...], family: str
) -> None:
    assert Metric(name, kind, "H.", labels).family == family


def test_series_with_the_wrong_number_of_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="has labels"):
        format_series(info("i_info", "I.", "a", "b"), ("only one",))
