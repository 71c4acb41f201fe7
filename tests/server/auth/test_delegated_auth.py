"""People on a node look through its agent, each as himself; nobody changes anything or is anybody else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.server.linking import Agent, Place, agent, run, serving, until
from tests.server.route_table import TABLE, stand_in
from vigie.agent.http.server import Response as AgentResponse
from vigie.agent.http.unix_handlers import UnixHandlers
from vigie.agent.http.unix_socket import listen
from vigie.agent.link.delegated_requests import MAX_RUNNING, DelegatedRequests
from vigie.cli import main
from vigie.model import Binding
from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.delegated_auth import DelegatedAuth
from vigie.server.auth.middleware import AuthMiddleware, with_auth
from vigie.server.privacy.redactor import Privacy
from vigie.wire.messages import MAX_MESSAGE, DelegatedRequest, DelegatedResponse

pytestmark = pytest.mark.process

ME = pwd.getpwuid(os.geteuid()).pw_name


@contextlib.asynccontextmanager
async def vouched(directory: Path, *routes: Route) -> AsyncIterator[tuple[Place, Agent]]:
    """Give a server that hides people from each other, and an agent that vouches."""
    apps: list[AuthMiddleware] = []
    places: list[Place] = []
    delegated_auth = DelegatedAuth(
        lambda: apps[0],
        lambda node, user: node == "login" or places[0].hub.bindings.has_user(node, user),
    )
    async with (
        serving(directory / "data", delegated_auth=delegated_auth) as place,
        agent(place, directory / "a", "n1") as one,
    ):
        places.append(place)
        callers = Authenticator(place.secrets, privacy=Privacy("a key"))
        apps.append(with_auth([*place.hub.routes(), *routes], callers))
        yield place, await one.connected()


def test_user_sees_his_own_by_name_and_others_by_pseudonym(tmp_path: Path) -> None:
    async def test() -> None:
        async with vouched(tmp_path) as (place, one):
            place.hub.bindings.add("n1", Binding("gpu:0", "job", "17", 1000, None, "ada"))
            place.hub.bindings.add("n1", Binding("gpu:1", "job", "18", 1000, None, "bob"))
            status, body = await one.link.request("ada", "/api/users?limit=10")
            assert status == 200
            assert sorted(user["user"] for user in json.loads(body)["users"])[0] == "ada"
            assert b"bob" not in body
            who = json.loads((await one.link.request("ada", "/api/session"))[1])
            assert (who["role"], who["name"]) == ("user", "ada")

    run(test())


def test_node_vouches_by_name_only_for_who_holds_something_there(tmp_path: Path) -> None:
    async def test() -> None:
        async with vouched(tmp_path) as (place, one), agent(place, tmp_path / "b", "login") as login:
            await login.connected()
            place.hub.bindings.add("n2", Binding("gpu:0", "job", "17", 1000, None, "ada"))
            place.hub.bindings.add("n1", Binding("gpu:0", "job", "16", 1000, 2000, "ada"))
            who = json.loads((await one.link.request("ada", "/api/session"))[1])
            assert (who["role"], who["name"]) == ("viewer", "")
            assert b"ada" not in (await one.link.request("ada", "/api/users?limit=10"))[1]
            assert b"ada" in (await login.link.request("ada", "/api/users?limit=10"))[1]

    run(test())


@pytest.mark.parametrize("path", ["/federate", "/metrics", "/sd/prometheus", "/api/v1/targets"])
def test_routes_for_programs_are_not_answered_on_the_word_of_a_node(tmp_path: Path, path: str) -> None:
    async def test() -> None:
        async def reached(_: Request) -> Response:
            return PlainTextResponse("reached")

        async with vouched(tmp_path, stand_in(path, reached)) as (_, one):
            assert (await one.link.request("ada", path))[0] == 403

    run(test())


def test_nothing_is_changed_and_nobody_signs_in_on_the_word_of_a_node(tmp_path: Path) -> None:
    async def test() -> None:
        async def reached(_: Request) -> Response:
            return PlainTextResponse("reached")

        more = [
            stand_in(row, reached)
            for row in ("POST /remove_node", "POST /add_node", "POST /api/v1/write", "/")
        ]
        async with vouched(tmp_path, *more) as (_, one):
            assert await one.link.request("root", "/") == (200, b"reached")
            for row in TABLE:
                path = row.rpartition(" ")[2].replace("{name:text}", "x").replace("{name}", "n1")
                status, body = await one.link.request("root", path)
                assert status in (200, 403, 404), (row, status)
                assert body != b"reached" or path == "/", row
            for odd in ("", "nonsense", "/../remove_node", "//remove_node", "/remove%5Fnode"):
                assert (await one.link.request("root", odd))[0] in (200, 307, 403, 404), odd

    run(test())


def test_switched_off_answers_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "data") as place, agent(place, tmp_path / "a", "n1") as one:
            await one.connected()
            assert (await one.link.request("ada", "/api/nodes"))[0] == 403

    run(test())


def test_answer_that_the_link_cannot_carry_is_refused_and_the_link_lives(tmp_path: Path) -> None:
    async def test() -> None:
        async def large(_: Request) -> Response:
            return Response(b"x" * MAX_MESSAGE)

        async with vouched(tmp_path, stand_in("/", large)) as (_, one):
            assert (await one.link.request("ada", "/"))[0] == 413
            assert (await one.link.request("ada", "/api/nodes"))[0] == 200
            assert one.link.counters.connections == 1

    run(test())


def test_many_questions_at_once_are_all_answered(tmp_path: Path) -> None:
    async def test() -> None:
        async with vouched(tmp_path) as (_, one):
            answers = await asyncio.gather(
                *(one.link.request("ada", "/api/session") for _ in range(5 * MAX_RUNNING))
            )
            assert {status for status, _ in answers} == {200}

    run(test())


def test_question_without_a_link_or_an_answer_is_told_so() -> None:
    async def test() -> None:
        asking = DelegatedRequests(seconds=0.05)
        assert (await asking.request("ada", "/"))[0] == 503
        sent: list[DelegatedRequest] = []

        async def send(ask: DelegatedRequest) -> None:
            sent.append(ask)

        asking.connect(send)
        assert (await asking.request("ada", "/"))[0] == 504
        asking.resolve(DelegatedResponse(sent[0].number, 200, b"late"))  # nobody waits for it
        waiting = asyncio.ensure_future(DelegatedRequests.request(asking, "ada", "/"))
        await until(lambda: len(sent) == 2)
        asking.disconnect()
        assert (await waiting)[0] == 503

    run(test())


def test_command_line_asks_through_the_socket_without_any_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VIGIE_AGENT_SOCKET", str(tmp_path / "agent.sock"))

    async def test() -> None:
        async with vouched(tmp_path) as (place, one):
            place.hub.bindings.add("n1", Binding("gpu:0", "job", "17", 1000, None, ME))
            place.hub.bindings.add("n1", Binding("gpu:1", "job", "18", 1000, None, "somebody"))
            pages = UnixHandlers(_NoPages(), [one.link])  # type: ignore[arg-type]
            local = await listen(pages.answer, tmp_path / "agent.sock")
            try:
                for command in ("who", "jobs"):
                    assert await asyncio.to_thread(main, [command, "--server", "agent"]) == 0
                    said = capsys.readouterr().out
                    assert ME in said
                    assert "user-" in said
                    assert "somebody" not in said
                assert await asyncio.to_thread(main, ["nodes", "remove", "n1", "--server", "agent"]) == 1
                assert "read-only via the agent" in capsys.readouterr().err
            finally:
                local.close()

    run(test())


class _NoPages:
    async def answer_owner(self, _: object) -> AgentResponse:
        return AgentResponse(404, b"")
