"""One demo and one browser for all tests of the page; errors in it and requests elsewhere fail them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.real.conftest import need
from tests.real.waiting import until
from tests.web.programs import START, STORY, Running, vigie
from vigie.server.pages.incident_monitor import UNFINISHED

QUIET = (
    "--no-sandbox",  # tests may run as root in a container, where the sandbox cannot be made
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 20_000
PASSWORD = "from a file"
Open = Callable[..., "Watched"]
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as running whole programs."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.process)


class Watched:
    """A page of a browser of its own, and everything that went wrong in it."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.address, self.excused, self._troubles = address, "", list[str]()
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._logged)
        self.page.on("pageerror", lambda error: self._troubles.append(f"not caught: {error}"))
        self.page.on("request", self._asked)

    def go(self, route: str = "") -> Page:
        """Open a route of the page and wait until it says something."""
        self.page.goto(f"{self.address}/{route}")
        expect(self.page.locator("main h1").first).to_be_attached()
        return self.page

    def troubles(self) -> list[str]:
        """Return what went wrong, but for what the test is about."""
        return [each for each in self._troubles if not self.excused or self.excused not in each]

    def _logged(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._troubles.append(f"console: {message.text} {message.location.get('url', '')}")

    def _asked(self, request: Request) -> None:
        asked, own = urlsplit(request.url), urlsplit(self.address)
        if asked.scheme not in ("data", "blob") and (asked.scheme, asked.netloc) != (own.scheme, own.netloc):
            self._troubles.append(f"a request left the origin: {request.url}")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A simulated cluster whose clock stands still."""
    home = tmp_path_factory.mktemp("demo")
    (home / "password").write_text(PASSWORD)
    with vigie("demo", home / "data", f"--admin-password-file={home}/password", *STORY) as server:
        until(
            lambda: UNFINISHED not in str(server.get("api/pages/cluster")), "its hours are looked at", START
        )
        yield server


class _Playing:
    """The browser; its event loop counts as running only while a test of the page runs.

    Otherwise every later test of this process that runs a loop of its own would be refused.
    """

    def __init__(self) -> None:
        self._playing = sync_playwright().start()
        self._loop = asyncio.get_running_loop()
        self.browser: Browser = self._playing.chromium.launch(
            executable_path=need("chromium"), args=list(QUIET)
        )
        asyncio._set_running_loop(None)

    @contextlib.contextmanager
    def on(self) -> Iterator[Browser]:
        asyncio._set_running_loop(self._loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)

    def stop(self) -> None:
        with self.on():
            self.browser.close()
            self._playing.stop()


@pytest.fixture(scope="session")
def _playing() -> Iterator[_Playing]:
    need("chromium")
    playing = _Playing()
    yield playing
    playing.stop()


@pytest.fixture
def opened(_playing: _Playing) -> Iterator[Open]:
    """Return an opener of watched pages at any address; what goes wrong in one fails the test."""
    watched: list[Watched] = []
    with _playing.on() as browser, contextlib.ExitStack() as stack:

        def begin(address: str, **settings: Any) -> Watched:
            wide: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}, "timezone_id": "UTC"}
            context = browser.new_context(**{**wide, "reduced_motion": "reduce", **settings})
            stack.callback(context.close)
            watched.append(Watched(context, address))
            return watched[-1]

        yield begin
        troubles = [trouble for each in watched for trouble in each.troubles()]
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def site(opened: Open, demo: Running) -> Watched:
    """The demo's page, wide and light."""
    return opened(demo.address)
