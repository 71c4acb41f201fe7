"""Targets are kept, told apart whole, and refused with a reason."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.server.scrape.target import InvalidTargetError, target_of
from vigie.server.scrape.target_store import TargetConflictError, TargetStore
from vigie.store.errors import NewerFormatError, StoreError

JOB = {"job": "node-exporter"}


@pytest.fixture(name="targets")
def _targets(tmp_path: Path) -> Iterator[TargetStore]:
    with contextlib.closing(TargetStore(tmp_path / "targets.sqlite")) as targets:
        yield targets


def addresses(targets: TargetStore) -> list[str]:
    return [target.address for target in targets.all()]


def test_instance_is_the_name_of_the_node_without_a_port() -> None:
    assert target_of("10.0.0.1:9100", JOB).labels["instance"] == "10.0.0.1"
    assert target_of("[fd00::1]:9100", JOB).labels["instance"] == "fd00::1"
    assert target_of("10.0.0.1:9100", {**JOB, "hostname": "gpu1"}).labels["instance"] == "gpu1"
    assert target_of("10.0.0.1:9100", {**JOB, "hostname": "gpu1", "instance": "i"}).labels["instance"] == "i"


def test_path_and_scheme_are_no_labels() -> None:
    target = target_of("n1:443", {**JOB, "__metrics_path__": "/m?x=y", "__scheme__": "https"})
    assert target.url == "https://n1:443/m?x=y"
    assert set(target.labels) == {"instance", "job"}
    assert target.discovered() == {**target.labels, "__metrics_path__": "/m?x=y", "__scheme__": "https"}


@pytest.mark.parametrize(
    ("address", "labels", "reason"),
    [
        ("10.0.0.1", JOB, "an address and a port"),
        ("10.0.0.1:0", JOB, "an address and a port"),
        ("10.0.0.1:99999", JOB, "an address and a port"),
        ("http://10.0.0.1:9100", JOB, "an address and a port"),
        ("10.0.0.1:9100/metrics", JOB, "an address and a port"),
        ("a b:9100", JOB, "an address and a port"),
        ("user@n1:9100", JOB, "an address and a port"),
        ("169.254.169.254:80", JOB, "no address of an exporter"),
        ("[fe80::1]:80", JOB, "no address of an exporter"),
        ("0.0.0.0:80", JOB, "no address of an exporter"),
        ("n1:1", {}, "label job is missing"),
        ("n1:1", {**JOB, "a-b": "c"}, "no name for a label"),
        ("n1:1", {**JOB, "__param_x": "c"}, "no name for a label"),
        ("n1:1", {**JOB, "a": "x" * 2000}, "too long"),
        ("n1:1", {**JOB, "a": "\ud800"}, "no valid text"),
        ("n1:1", {**JOB, **{f"l{i}": "x" for i in range(70)}}, "the bound is 64"),
        ("n1:1", {**JOB, "__scheme__": "file"}, "http or https"),
        ("n1:1", {**JOB, "__metrics_path__": "/a b\r\nX: y"}, "should be a path"),
    ],
)
def test_what_cannot_be_scraped_is_refused_with_a_reason(
    address: str, labels: dict[str, str], reason: str
) -> None:
    with pytest.raises(InvalidTargetError, match=reason):
        target_of(address, labels)


@given(st.text(max_size=30), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_any_text_gives_a_target_or_a_reason(address: str, labels: dict[str, str]) -> None:
    try:
        target = target_of(address, {**JOB, **labels})
    except InvalidTargetError:
        return
    assert target.host
    assert 0 < target.port < 65536


def test_targets_are_there_after_a_restart(tmp_path: Path) -> None:
    target = target_of("10.0.0.1:9100", {**JOB, "rack": "é \n"})
    for _ in range(2):
        with contextlib.closing(TargetStore(tmp_path / "t")) as targets:
            targets.add([target])
            assert list(targets.all()) == [target]


def test_adding_again_changes_nothing_and_other_labels_replace(targets: TargetStore) -> None:
    told: list[int] = []
    targets.watch(lambda: told.append(len(targets.all())))
    target = target_of("10.0.0.1:9100", JOB)
    targets.add([target])
    targets.add([target])
    assert told == [1]
    changed = target_of("10.0.0.1:9100", {**JOB, "rack": "r1"})
    targets.add([changed])
    assert list(targets.all()) == [changed]
    assert told == [1, 1]


def test_removal_takes_all_of_the_address_and_of_no_other(targets: TargetStore) -> None:
    targets.add(target_of(f"10.0.0.1:{port}", {"job": f"j{port}"}) for port in (9100, 9400))
    targets.add(
        [target_of("10.0.0.10:9100", JOB), target_of("110.0.0.1:9100", JOB), target_of("n1:9100", JOB)]
    )
    assert len(targets.remove("10.0.0.1")) == 2
    assert addresses(targets) == ["10.0.0.10:9100", "110.0.0.1:9100", "n1:9100"]
    assert targets.remove("10.0.0.1") == []
    assert len(targets.remove("N1")) == 1


def test_address_is_the_same_however_it_is_spelt(targets: TargetStore) -> None:
    targets.add([target_of("[fd00:0::1]:9100", JOB)])
    assert len(targets.remove("fd00::1")) == 1


def test_two_targets_with_the_same_labels_are_refused(targets: TargetStore) -> None:
    targets.add([target_of("10.0.0.1:9100", JOB)])
    both = [target_of("10.0.0.2:9100", JOB), target_of("10.0.0.1:9101", JOB)]
    with pytest.raises(TargetConflictError, match=r"10\.0\.0\.1:9100.*10\.0\.0\.1:9101.*another job"):
        targets.add(both)
    assert addresses(targets) == ["10.0.0.1:9100"]  # all or none


def test_file_of_a_later_version_is_refused_and_a_damaged_one_named(tmp_path: Path) -> None:
    path = tmp_path / "t"
    TargetStore(path).close()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(NewerFormatError, match="later version"):
        TargetStore(path)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match=str(path)):
        TargetStore(path)
