"""A server is asked for targets; whatever it says instead is an error in words."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.publishing.conftest import Says
from vigie.common.endpoint import Endpoint
from vigie.publishing import server_client


def test_targets_are_asked_for_under_the_prefix(says: tuple[Says, Endpoint]) -> None:
    said, target = says
    assert server_client.fetch_entries(target) == [(["n1:9797"], {"instance": "n1", "job": "node"})]
    assert said.asked[-1] == "/prefix/sd/prometheus"


@given(
    body=st.binary(max_size=60) | st.sampled_from([b"[3]", b"[[]]", b'[{"targets": 1, "labels": {}}]', b"{}"])
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_garbage_is_told_as_such(says: tuple[Says, Endpoint], body: bytes) -> None:
    said, target = says
    said.body = body
    found = None
    with contextlib.suppress(server_client.ServerClientError):  # and nothing else
        found = server_client.fetch_entries(target)
    assert found in (None, [])


@pytest.mark.parametrize(
    ("status", "why"), [(401, "does not take the token"), (404, "is this vigie's server")]
)
def test_refusal_says_what_to_type(says: tuple[Says, Endpoint], status: int, why: str) -> None:
    said, target = says
    said.status = status
    with pytest.raises(server_client.ServerClientError, match=why):
        server_client.fetch_entries(target)
    assert not server_client.accepts_token(target)


@pytest.mark.parametrize("body", [b"", b"3", b"[]", b'{"nodes": 1}', b'{"nodes": [{}]}'])
def test_garbage_instead_of_nodes_is_told_as_such(says: tuple[Says, Endpoint], body: bytes) -> None:
    said, target = says
    assert server_client.fetch_portless(target) == 2
    said.nodes = body
    with pytest.raises(server_client.ServerClientError, match="no list of nodes"):
        server_client.fetch_portless(target)


def test_server_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(server_client.ServerClientError, match="Cannot reach the server"):
        server_client.fetch_entries(Endpoint("http://127.0.0.1:1"))


def test_prometheus_that_does_not_reload_says_why(says: tuple[Says, Endpoint]) -> None:
    said, target = says
    assert server_client.reload(target) == ""
    assert said.asked[-1] == "/prefix/-/reload"
    said.status = 403
    assert "/-/reload says 403" in server_client.reload(target)
    assert "127.0.0.1:1" in server_client.reload(Endpoint("http://127.0.0.1:1"))
