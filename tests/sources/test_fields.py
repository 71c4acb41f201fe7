from __future__ import annotations

from vigie.model import Metric, gauge
from vigie.sources._fields import Fields
from vigie.sources.core.host import Host

METRICS = {name: gauge(f"node_{name}", "A number.") for name in ("a", "b", "c")}


def _read(fields: Fields, host: Host, text: str) -> dict[str, float | None]:
    host.notes.clear()
    return {metric.name: value for metric, _, value in fields.samples(host, "/file", text, ())}


def _choose(name: str, _in_kilobytes: bool) -> Metric | None:
    return METRICS.get(name)


def test_kilobytes_become_bytes_and_plain_numbers_stay() -> None:
    assert _read(Fields(0, _choose), Host(), "a 2 kB\nb 3\n") == {"node_a": 2048, "node_b": 3}


def test_fields_that_nobody_chose_are_left_out() -> None:
    host = Host()
    assert _read(Fields(0, _choose), host, "x 1\na 2\ny 3 kB\nz -\n") == {"node_a": 2}
    assert host.notes == {}


def test_fields_are_found_again_after_they_moved() -> None:
    fields, host = Fields(0, _choose), Host()
    assert _read(fields, host, "a 1\nb 2\nx 5\n") == {"node_a": 1, "node_b": 2}
    assert _read(fields, host, "a 3\nb 4\nx 5\n") == {"node_a": 3, "node_b": 4}
    assert _read(fields, host, "x 5\na 6\nb 7\n") == {"node_a": 6, "node_b": 7}
    assert _read(fields, host, "x 5\na 6\nb 7\nc 8 kB\n") == {"node_a": 6, "node_b": 7, "node_c": 8192}
    assert _read(fields, host, "b 9\n") == {"node_b": 9}
    assert _read(fields, host, "") == {}
    assert _read(fields, host, "b 10\n") == {"node_b": 10}


def test_garbled_number_costs_only_itself_and_is_noted_each_time() -> None:
    fields, host = Fields(0, _choose), Host()
    for _ in range(2):
        assert _read(fields, host, "a 1\nb N/A kB\nc 3\n") == {"node_a": 1, "node_b": None, "node_c": 3}
        assert list(host.notes) == ["/file b"]
    assert _read(fields, host, "a 1\nb 2 kB\nc 3\n") == {"node_a": 1, "node_b": 2048, "node_c": 3}
    assert host.notes == {}


def test_line_without_a_number_costs_only_itself_and_is_noted_each_time() -> None:
    fields, host = Fields(0, _choose), Host()
    for _ in range(2):
        assert _read(fields, host, "a 1\nb\nc 3\n") == {"node_a": 1, "node_c": 3}
        assert list(host.notes) == ["/file b"]


def test_name_may_stand_further_right() -> None:
    fields, host = Fields(2, _choose), Host()
    assert _read(fields, host, "Node 0 a 1 kB\nNode 0 b 2\nNode\n") == {"node_a": 1024, "node_b": 2}
    assert list(host.notes) == ["/file Node"]


def test_one_metric_object_comes_back_as_long_as_the_file_keeps_its_order() -> None:
    fields, host = Fields(0, lambda name, _: METRICS["a"]._replace(name=name)), Host()
    first, second = (next(iter(fields.samples(host, "/file", "new 1\n", ())))[0] for _ in range(2))
    assert first is second
