"""Whatever an exporter does with HTTP, there is an answer or a reason, and never more than allowed."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.scrape.exporter import Exporter, exporting, said
from vigie.server.scrape.client import ScrapeClient, ScrapeError, ScrapeResponse, TargetAddress
from vigie.server.scrape.networks import parse_networks

MOST = 10_000


def got(exporter: Exporter, times: int = 1) -> list[ScrapeResponse]:
    """Ask an exporter some times over one client."""

    async def ask() -> list[ScrapeResponse]:
        client = ScrapeClient(TargetAddress("127.0.0.1", exporter.port, "/metrics"), MOST)
        try:
            async with asyncio.timeout(60):
                return [await client.get({"Accept-Encoding": "gzip"}) for _ in range(times)]
        finally:
            client.close()

    return asyncio.run(ask())


def test_connection_is_kept_for_the_next_scrape() -> None:
    with exporting("a 1\n") as exporter:
        assert [answer.body for answer in got(exporter, 3)] == [b"a 1\n"] * 3
        assert (exporter.connections, len(exporter.requests)) == (1, 3)
        assert exporter.requests[0].startswith("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:")


def test_connection_that_the_exporter_closed_is_made_anew() -> None:
    with exporting(lambda _: said("a 1\n", "Connection: close")) as exporter:
        assert len(got(exporter, 3)) == 3
        assert exporter.connections == 3


def test_connection_that_is_closed_without_a_word_is_made_anew() -> None:
    answers = iter([said("a 1\n"), b"", said("a 2\n")])
    with exporting(lambda _: next(answers)) as exporter:
        assert [answer.body for answer in got(exporter, 2)] == [b"a 1\n", b"a 2\n"]


def test_answer_without_a_length_ends_with_its_connection() -> None:
    with exporting(lambda _: b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\na 1\n") as exporter:
        assert got(exporter, 2) == [ScrapeResponse(b"a 1\n", "text/plain")] * 2


def test_chunks_and_gzip_are_put_together() -> None:
    packed = gzip.compress(b"a 1\n", mtime=0)
    parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (packed[:7], packed[7:]))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    with exporting(lambda _: head + parts + b"0\r\n\r\n") as exporter:
        assert [answer.body for answer in got(exporter, 2)] == [b"a 1\n"] * 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (said("no", status="404 Not Found"), "HTTP status 404 Not Found"),
        (said("", "Location: /x", status="301 Moved Permanently"), "status 301"),
        (said("", status="799 Odd"), "status 799"),
        (said("x" * (MOST + 1)), f"larger than {MOST} bytes"),
        (said("x" * (MOST + 1), packed=True), f"larger than {MOST} bytes"),
        (said("no gzip at all", "Content-Encoding: gzip"), "not gzip"),
        (said(gzip.compress(b"a 1\n", mtime=0)[:-4], "Content-Encoding: gzip"), "not one whole gzip file"),
        (said("x", "Content-Encoding: br"), "not asked for"),
        (said("", *(f"X-{i}: {'y' * 1000}" for i in range(70))), "head of the answer is larger"),
        (b"", "closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\na 1\n", "closed"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not HTTP"),
    ],
)
def test_bad_answer_is_an_error_with_its_reason(answer: bytes, reason: str) -> None:
    with exporting(lambda _: answer) as exporter, pytest.raises(ScrapeError, match=reason):
        got(exporter)


def test_nobody_there_is_an_error() -> None:
    with exporting("a 1\n") as exporter:
        pass
    with pytest.raises(ScrapeError, match="cannot connect"):
        got(exporter)


def test_client_works_again_after_a_bad_answer() -> None:
    answers = iter([said("no", status="500 Oops"), said("a 1\n")])

    async def ask(exporter: Exporter) -> ScrapeResponse:
        client = ScrapeClient(TargetAddress("127.0.0.1", exporter.port, "/"), MOST)
        with pytest.raises(ScrapeError):
            await client.get({})
        answer = await client.get({})
        client.close()
        return answer

    with exporting(lambda _: next(answers)) as exporter:
        assert asyncio.run(ask(exporter)).body == b"a 1\n"


def test_secret_with_a_line_break_cannot_smuggle_a_header() -> None:
    async def ask() -> None:
        await ScrapeClient(TargetAddress("127.0.0.1", 1, "/"), MOST).get(
            {"Authorization": "Bearer x\r\nX: y"}
        )

    with pytest.raises(ScrapeError, match="line break"):
        asyncio.run(ask())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=st.binary(max_size=100), headed=st.booleans())
def test_any_bytes_give_an_answer_or_an_error(junk: bytes, headed: bool, junky: Exporter) -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n" if headed else b""
    junky.reply = lambda _: head + junk + b"\r\n\r\nConnection: close"
    try:
        [answer] = got(junky)
    except ScrapeError:
        return
    assert len(answer.body) <= MOST


@pytest.fixture(name="junky")
def _junky():  # type: ignore[no-untyped-def]
    with exporting("") as exporter:
        yield exporter


@pytest.mark.parametrize(
    "spelling",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "::ffff:127.0.0.1"],
)
def test_address_is_judged_as_resolved_however_it_is_spelt(spelling: str) -> None:
    with exporting("a 1\n") as exporter:
        place = TargetAddress(spelling, exporter.port, "/metrics", networks=parse_networks(["127.0.0.2/32"]))
        with pytest.raises(ScrapeError, match="may not be scraped"):
            asyncio.run(ScrapeClient(place, MOST).get({}))
        assert exporter.connections == 0


def test_name_that_changes_its_address_is_judged_at_every_connection() -> None:
    with exporting("a 1\n") as exporter:
        exporter.reply = lambda _: said("a 1\n", "Connection: close")
        answers = [["127.0.0.1"], ["127.0.0.2"]]

        async def resolve(_: str, __: int) -> list[str]:
            return answers.pop(0)

        async def test() -> None:
            place = TargetAddress(
                "rebinding.test", exporter.port, "/metrics", networks=parse_networks(["127.0.0.1/32"])
            )
            client = ScrapeClient(place, MOST, resolve)
            assert (await client.get({})).body == b"a 1\n"
            with pytest.raises(ScrapeError, match="may not be scraped"):
                await client.get({})
            client.close()

        asyncio.run(test())
        assert exporter.connections == 1
        assert not answers  # resolved once for each connection: what was judged is what is asked


def test_redirect_is_not_followed() -> None:
    with exporting("secret 1\n") as elsewhere, exporting("a 1\n") as exporter:
        where = f"Location: http://{elsewhere.address}/metrics"
        exporter.reply = lambda _: said("", where, status="302 Found")
        with pytest.raises(ScrapeError, match="status 302"):
            got(exporter)
        assert elsewhere.connections == 0
