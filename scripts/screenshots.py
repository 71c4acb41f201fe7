"""Take pictures of every page on a demo, dark and light, wide and on a phone, into build/screenshots.

    make screenshots
    python scripts/screenshots.py --server http://127.0.0.1:8000    of a server that runs
    python scripts/screenshots.py cluster explore                   of some pages only

The demo stands still at one moment, so that two runs can be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as StillBusy

from vigie.dashboards import all_dashboards

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "screenshots"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
NOW = "2026-11-16T06:00:00Z"
PAGES = {
    "cluster": "",
    "jobs": "jobs",
    "waiting": "jobs?state=waiting",
    "finished": "jobs?state=finished",
    "job": "job/4211",
    "receipt": "job/4211?tab=receipt",
    "waiting-job": "job/4245",
    "nodes": "nodes",
    "node": "node/gpu04",
    "cpu-node": "node/cpu01",
    "lost-node": "node/gpu14",
    "gpu": "gpu/gpu03/5",
    "mig": "gpu/gpu10/0",
    "users": "users",
    "user": "user/alice",
    "events": "events",
    "dashboards": "dashboards",
    "explore": "explore?query=vigie_gpu_power_watts",
    "table": "explore?query=vigie_gpu_power_watts&show=table",
    "itself": "vigie",
    "no-job": "job/9999",
    **{f"board-{board.slug}": f"dashboard/{board.slug}" for board in all_dashboards() if board.listed},
}
SIZES = {"wide": (1440, 900), "phone": (390, 844)}
START_SECONDS = 600  # a machine with other work on it takes its time
OPEN_MS = 120_000
CALM_MS = 60_000  # until nothing is asked for any more
BUSY = "main [aria-busy=true]:visible"


@contextlib.contextmanager
def demo() -> Iterator[str]:
    """Run a demo that stands still, and give its address."""
    command = [sys.executable, "-m", "vigie", "demo", "--listen=127.0.0.1:0", f"--now={NOW}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip()
        finally:
            running.terminate()


def take(browser: Browser, server: str, name: str, theme: str, size: str) -> None:
    """Take the picture of one page; one that is too slow is tried once more."""
    try:
        _take(browser, server, name, theme, size)
    except StillBusy as error:
        print(f"{name}, {theme}, {size}: once more: {error.message.splitlines()[0]}", file=sys.stderr)
        _take(browser, server, name, theme, size)


def _take(browser: Browser, server: str, name: str, theme: str, size: str) -> None:
    width, height = SIZES[size]
    with browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        device_scale_factor=2 if size == "phone" else 1,
    ) as context:
        context.set_default_timeout(OPEN_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: print(f"{name}: {error}", file=sys.stderr))
        page.goto(f"{server}/{PAGES[name]}")
        _calm(page)
        _seen(page)
        page.screenshot(path=OUT / f"{name}-{theme}-{size}.png", full_page=True)


def _calm(page: Page) -> None:
    with contextlib.suppress(StillBusy):  # a picture of a page that is still loading tells so
        page.wait_for_load_state("networkidle", timeout=CALM_MS)


def _seen(page: Page) -> None:
    """Scroll through the page: charts ask for their data when they come into view."""
    top = 0
    while top < page.evaluate("document.documentElement.scrollHeight"):  # it grows as they come
        page.evaluate(f"scrollTo(0, {top})")
        page.wait_for_timeout(100)
        top += 600
    with contextlib.suppress(StillBusy):
        page.wait_for_selector(BUSY, state="hidden", timeout=CALM_MS)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(200)


def main() -> None:
    """Take all pictures, or those that were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"some of: {' '.join(PAGES)}")
    parser.add_argument("--server", help="one that runs, instead of a demo")
    given = parser.parse_args()
    if unknown := set(given.pages) - set(PAGES):
        parser.error(f"there is no page {', '.join(sorted(unknown))}; there are: {' '.join(PAGES)}")
    OUT.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as opened:
        server = given.server or opened.enter_context(demo())
        with urllib.request.urlopen(f"{server}/api/session", timeout=START_SECONDS) as answer:
            json.load(answer)
        playwright = opened.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for name in given.pages or PAGES:
            for theme in ("light", "dark"):
                for size in SIZES:
                    take(browser, server.rstrip("/"), name, theme, size)
        browser.close()
    print(f"{OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
