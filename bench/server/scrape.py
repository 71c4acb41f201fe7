"""What scraping costs the server: CPU a scrape of 1500 samples, over loopback, with the store behind it.

python bench/server/scrape.py
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import machine  # noqa: E402
from bench.store.fleet import Node  # noqa: E402
from vigie.common.endpoint import TlsOptions  # noqa: E402
from vigie.model.table import TableValues  # noqa: E402
from vigie.server.api.prometheus.queries import now_ms  # noqa: E402
from vigie.server.metrics import ScrapeMetrics  # noqa: E402
from vigie.server.scrape.config import ScrapeConfig  # noqa: E402
from vigie.server.scrape.scrape_loop import ScrapeContext, TargetLoop  # noqa: E402
from vigie.server.scrape.series_cache import ScrapeCache  # noqa: E402
from vigie.server.scrape.target import target_of  # noqa: E402
from vigie.store.store import Store  # noqa: E402
from vigie.wire.exposition.renderer import TEXT, Renderer  # noqa: E402

STEPS = 20
SCRAPES = 300
RUNS = 3


def bodies() -> list[bytes]:
    """Return what a node's exporter says, step after step."""
    renderer = Renderer()
    node = Node(1)
    frames = node.frames(node.times(0, 0, STEPS), node.values(STEPS))
    return [
        renderer.render([TableValues(table, values, True) for table, values in frame.parts], TEXT).encode()
        for frame in frames
    ]


def export(port: Connection, packed: bool) -> None:
    """Serve them, each in its turn, in a process of its own."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
    head += b"Content-Encoding: gzip\r\n" if packed else b""
    contents = [gzip.compress(body, 1) if packed else body for body in bodies()]
    answers = [head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body for body in contents]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        turns = itertools.cycle(answers)
        while (await reader.readline()).startswith(b"GET "):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(next(turns))

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def scrape(port: int, store: Store) -> float:
    """Return the CPU milliseconds that one scrape takes."""
    # Scrapes follow each other without a pause, so each gets a time of its own.
    times = iter(range(now_ms(), 1 << 62, 1000))
    shared = ScrapeContext(
        store,
        ScrapeConfig(),
        lambda: next(times),
        ScrapeCache(),
        TlsOptions().context,
        1 << 40,
        ScrapeMetrics(),
    )
    loop = TargetLoop(target_of(f"127.0.0.1:{port}", {"job": "bench"}), shared)
    await loop.scrape()
    begun = time.process_time()
    for turn in range(SCRAPES):
        await loop.scrape()
        if turn % 10 == 0:
            store.sync()
    assert loop.state.health == "up", loop.state
    return (time.process_time() - begun) / SCRAPES * 1000


@contextlib.contextmanager
def exporting(*, packed: bool) -> Iterator[int]:
    """Run an exporter in a process of its own, and give its port."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    exporter = context.Process(target=export, args=(theirs, packed), daemon=True)
    exporter.start()
    try:
        yield ours.recv()
    finally:
        exporter.terminate()
        exporter.join()


def main() -> None:
    """Print the cost, with and without compression."""
    print(machine())
    for packed in (True, False):
        with exporting(packed=packed) as port:
            costs = []
            for _ in range(RUNS):
                with tempfile.TemporaryDirectory() as directory, Store(directory) as store:
                    costs.append(asyncio.run(scrape(port, store)))
        print(f"{'gzip' if packed else 'plain':6} " + "  ".join(f"{cost:.2f}" for cost in costs) + " ms CPU")


if __name__ == "__main__":
    main()
