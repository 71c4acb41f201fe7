"""What is known of metrics, whichever way they come: declared, by link, by scrape, by remote write."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.asgi import call
from tests.server.linking import agent, run, serving, until
from tests.server.serving import TOKEN
from tests.server.whole import whole
from vigie.model import counter
from vigie.query.limits import QueryLimits
from vigie.server.api.prometheus.status import metadata
from vigie.server.ingest.link_tables import SharedTables
from vigie.server.ingest.metadata import MAX_FAMILIES, MAX_HELP, MetadataCache, MetricMetadata, merge_metadata
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store
from vigie.wire import table_codec
from vigie.wire.remote_write.protobuf import encode_varint
from vigie.wire.remote_write.write_request import compress

LOAD = MetricMetadata("gauge", "A load.", "")


def answer(store: Store, brought: dict[str, MetricMetadata], name: str = "") -> dict[str, Any]:
    rows = json.loads(metadata(name, None, brought, False, store, QueryLimits()))["data"]
    return {metric: tuple(found.values()) for metric, (found,) in rows.items()}


def stored(path: Path, *names: str) -> Store:
    store = Store(path)
    store.append_series([Samples({"__name__": name}, [1000], [1.0]) for name in names])
    return store


def test_source_of_anything_hides_nothing_that_another_source_declares(tmp_path: Path) -> None:
    with stored(tmp_path, "node_arp_entries", "node_memory_Odd_bytes", "of_a_file") as store:
        known = answer(store, {})
    assert known["node_arp_entries"][0] == "gauge"
    assert known["node_memory_Odd_bytes"][0::2] == ("gauge", "bytes")
    assert "of_a_file" not in known


def test_metrics_of_agents_and_of_the_server_itself_are_known(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        known = answer(store, {})
    for name, kind in {"up": "gauge", "vigie_server_queries_total": "counter"}.items():
        assert known[name][0] == kind
        assert known[name][1]


def test_who_brings_a_metric_knows_better_unless_he_says_nothing(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        known = answer(store, {"node_load1": MetricMetadata("gauge", "My load.", ""), "up": MetricMetadata()})
    assert known["node_load1"] == ("gauge", "My load.", "")
    assert known["up"][0] == "gauge"


def test_table_that_comes_by_link_tells_kind_help_and_unit() -> None:
    alike = SharedTables()
    alike.layout(table_codec.encode_layout([(counter("wait_seconds_total", "x" * 9999, "q"), ("a",))]))
    assert alike.described.families == {
        "wait_seconds_total": MetricMetadata("counter", "x" * MAX_HELP, "seconds")
    }


@pytest.mark.process
def test_linked_agent_describes_its_metrics(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            n1.send(0.5)
            await until(lambda: "load" in place.hub.described.families)
            assert place.hub.described.families["load"] == LOAD

    run(test())


def test_sender_of_remote_write_describes_its_metrics(tmp_path: Path) -> None:
    told = b"\x08\x01\x12\x06a_load\x22\x07A load.\x2a\x01s"
    body = compress(b"\x1a" + encode_varint(len(told)) + told)

    async def ask() -> Any:
        with whole(tmp_path) as (app, *_):
            token = {"Authorization": f"Bearer {TOKEN}"}
            written = await asyncio.to_thread(call, app, "POST", "/api/v1/write", token, body)
            assert written.status == 204
            found = await asyncio.to_thread(call, app, "GET", "/api/v1/metadata?metric=a_load")
            return found.json["data"]

    assert asyncio.run(ask()) == {"a_load": [{"type": "counter", "help": "A load.", "unit": "s"}]}


def test_too_many_metrics_are_not_kept() -> None:
    described = MetadataCache()
    described.take({f"m{number}": LOAD for number in range(MAX_FAMILIES)})
    described.take({"one_more": LOAD})
    assert len(described.families) == MAX_FAMILIES


FAMILIES = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(
        MetricMetadata,
        st.sampled_from(["unknown", "gauge", "counter"]),
        st.sampled_from(["", "h"]),
        st.just(""),
    ),
)


@given(FAMILIES, FAMILIES)
def test_what_is_known_is_never_forgotten(
    first: dict[str, MetricMetadata], then: dict[str, MetricMetadata]
) -> None:
    described = MetadataCache()
    described.take(first)
    described.take(then)
    assert described.families == merge_metadata(first, then)
    for name, family in described.families.items():
        told = [each[name] for each in (first, then) if name in each]
        assert (family.kind == "unknown") == all(each.kind == "unknown" for each in told)
        assert bool(family.help) == any(each.help for each in told)
