"""What the page costs: bytes, time to the first paint with data, questions a page asks, a map of 8000 GPUs.

    python bench/page/run.py [--rounds 5]

On a demo that stands still, in Chromium, over loopback. Times are the browser's own.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route, sync_playwright

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import vigie  # noqa: E402
from bench.programs import free_port, machine, running  # noqa: E402

CHROMIUM = "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
NOW = "2026-11-16T06:00:00Z"
PAGES = ("", "jobs", "job/4211", "nodes", "node/gpu04", "gpu/gpu03/5", "users", "user/alice", "events")
NODES, GPUS = 1000, 8
# Set before anything else runs: when the verdict, which is the first thing said from data, is on the screen.
WATCH = """
new MutationObserver((_, self) => {
  if (!document.querySelector('.verdict, table tbody tr')) return;
  self.disconnect();
  const told = () => { document.documentElement.dataset.painted = performance.now(); };
  requestAnimationFrame(() => setTimeout(told));
}).observe(document, { childList: true, subtree: true });
"""
PAINTED = "Number(document.documentElement.dataset.painted)"
# How long each redrawing of the map takes while the pointer goes over it.
PAN = """
async () => {
  const canvas = document.querySelector('.cells canvas');
  const { width, height, left, top } = canvas.getBoundingClientRect();
  const frames = [];
  for (let i = 0; i < 60; i++) {
    const before = performance.now();
    const place = { clientX: left + (width * i) / 60, clientY: top + (height * i) / 60, bubbles: true };
    canvas.dispatchEvent(new MouseEvent('mousemove', place));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    frames.push(performance.now() - before);
  }
  return frames;
}
"""


@contextlib.contextmanager
def demo() -> Iterator[str]:
    """Run a demo, and give its address."""
    port = free_port()
    command = [sys.executable, "-m", "vigie", "demo", f"--listen=127.0.0.1:{port}", f"--now={NOW}"]
    with running(command, port, "/healthz", patience=180):
        yield f"http://127.0.0.1:{port}"


def opened(browser: Browser, url: str) -> Page:
    """Return a page in a fresh context that tells when data was painted."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(WATCH)
    page.goto(url)
    page.wait_for_selector("html[data-painted]", state="attached", timeout=60_000)
    return page


def bundle() -> tuple[int, int]:
    """Return the gzipped bytes of all files, and of those the first page loads."""
    folder = Path(vigie.__file__).parent / "page"
    sizes = {file.name: file.stat().st_size for file in (folder / "assets").glob("*.gz")}
    return sum(sizes.values()), sum(size for name, size in sizes.items() if name.startswith("index-"))


def asked(browser: Browser, url: str) -> tuple[float, int, float]:
    """Return when data was painted, how many questions were asked, and how long they took in sum, in ms."""
    page = opened(browser, url)
    page.wait_for_load_state("networkidle")
    spans = page.evaluate(
        "performance.getEntriesByType('resource')"
        ".filter((entry) => entry.name.includes('/api/')).map((entry) => entry.duration)"
    )
    painted: float = page.evaluate(PAINTED)
    page.context.close()
    return painted, len(spans), sum(spans)


def large(page: dict[str, Any]) -> bytes:
    """Return the page of a thousand nodes with eight GPUs each, made of the demo's own."""
    whole = [node for node in page["nodes"] if len(node["cells"]) == GPUS]
    nodes = []
    for number in range(NODES):
        node = copy.deepcopy(whole[number % len(whole)])
        node["name"] = f"gpu{number:04}"
        nodes.append(node)
    return json.dumps({**page, "nodes": nodes}).encode()


def map_of_thousands(browser: Browser, server: str) -> tuple[float, list[float]]:
    """Return the ms from data to pixels, and of each redrawing under a moving pointer."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(WATCH)

    def answer(route: Route) -> None:
        route.fulfill(body=large(route.fetch().json()), content_type="application/json")

    page.route("**/api/pages/cluster*", answer)
    page.goto(server)
    page.wait_for_selector("html[data-painted]", state="attached", timeout=60_000)
    page.wait_for_selector(".cells canvas")
    took: float = page.evaluate(
        f"{PAINTED} - performance.getEntriesByType('resource')"
        ".find((e) => e.name.includes('/pages/cluster')).responseEnd"
    )
    frames: list[float] = page.evaluate(PAN)
    page.context.close()
    return took, frames


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(machine())
    all_, first = bundle()
    print(
        f"bundle: {all_ / 1000:.0f} kB gzipped in all, {first / 1000:.0f} kB for the first page (at most 300)"
    )
    with demo() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for path in PAGES:
            runs = [asked(browser, f"{server}/{path}") for _ in range(rounds)]
            painted = [f"{run[0]:.0f}" for run in runs]
            sums = statistics.median(run[2] for run in runs)
            print(f"/{path}: data painted after {', '.join(painted)} ms (goal 1000);", end=" ")
            print(f"{runs[-1][1]} questions, {sums:.0f} ms in sum")
        drawn = [map_of_thousands(browser, server) for _ in range(rounds)]
        print(
            f"map of {NODES} x {GPUS} GPUs: {', '.join(f'{took:.0f}' for took, _ in drawn)} ms (goal 500);",
            end=" ",
        )
        frames = [frame for _, some in drawn for frame in some]
        print(f"a redrawing {statistics.median(frames):.1f} ms, the slowest {max(frames):.1f} ms")
        browser.close()


if __name__ == "__main__":
    main()
