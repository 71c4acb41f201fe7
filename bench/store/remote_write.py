"""A real Prometheus scrapes 50 targets and remote-writes to a server; the same samples as frames beside it.

python bench/store/remote_write.py --targets 50 --seconds 150

Values are compared with Prometheus's own. Memory is that of a process that takes the same samples in the same
order, as requests or as frames, beyond what it needed before; the server's own is printed too.
"""

from __future__ import annotations

import argparse
import gc
import json
import pickle
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import free_port, machine, running, wait_for  # noqa: E402
from bench.store.targets import exporting, prometheus  # noqa: E402
from vigie.model import ABSENT, Frame, Table, gauge  # noqa: E402
from vigie.query.storage import Matcher  # noqa: E402
from vigie.store.compression.codec import absent  # noqa: E402
from vigie.store.heads.ungrouped import Samples  # noqa: E402
from vigie.store.store import Store  # noqa: E402
from vigie.wire.remote_write.labels import LabelCache  # noqa: E402
from vigie.wire.remote_write.write_request import compress, decode, decompress, encode  # noqa: E402

A_REQUEST = 500  # samples, as Prometheus 2.42 sends them
MAINTAIN_MS = 10_000

Series = dict[tuple[tuple[str, str], ...], list[tuple[int, float]]]


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--take", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.take:
        take(given.take)
        return
    print(machine())
    with tempfile.TemporaryDirectory() as directory:
        compare(Path(directory), given.targets, given.seconds)


def compare(home: Path, targets: int, seconds: int) -> None:
    """Print what both ways cost, or fail where a value differs."""
    samples, server_memory = scraped(home, targets, seconds)
    count = sum(map(len, samples.values()))
    print(f"{len(samples)} series of {targets} targets, {count} samples, equal to Prometheus's own")
    for how, steps in (("requests", _requests(samples)), ("frames", _frames(samples))):
        with (home / how).open("wb") as file:
            for step in steps:
                pickle.dump(step, file)
    served = blocks(home / "server" / "store")
    found = {how: _child(home / how) for how in ("requests", "frames")}
    print(f"{'':24}{'B a sample on disk':>20}{'B of memory a sample':>22}")
    print(f"{'by Prometheus, server':24}{served:20.2f}{server_memory / count:22.1f}")
    for how, (disk, memory) in found.items():
        print(f"{'as ' + how:24}{disk / count:20.2f}{memory / count:22.1f}")
    print(f"disk    {served * count / found['frames'][0]:6.2f} of frames (at most 2)")
    print(f"memory  {found['requests'][1] / found['frames'][1]:6.2f} of frames (at most 3), ", end="")
    print(f"{server_memory / found['frames'][1]:.2f} for the whole server")


def scraped(home: Path, targets: int, seconds: int) -> tuple[Series, float]:
    """Return what a server has after so many seconds, and by how many bytes it grew meanwhile."""
    port, other, data = free_port(), free_port(), home / "server"
    command = [sys.executable, "-m", "vigie", "server", f"--data={data}", f"--listen=127.0.0.1:{port}"]
    with exporting(targets) as exporters, running(command, port, "/") as server:
        wait_for(port, "/-/ready")
        write = f"http://127.0.0.1:{port}/api/v1/write"
        before = server.pss()
        with running(prometheus(home, other, exporters, write, data / "server-token"), other, "/"):
            wait_for(other, "/-/ready")
            time.sleep(seconds)
            end, grown = time.time() - 2, (server.pss() - before) * 2**20
            return equal_until(port, other, exporters[1], end), grown


def equal_until(port: int, other: int, instances: list[str], end: float) -> Series:
    """Return the samples up to a time; both have the same, or it fails."""
    found: Series = {}
    for instance in instances:
        deadline = time.monotonic() + 30
        while (ours := raw(port, instance, end)) != (theirs := raw(other, instance, end)):
            if time.monotonic() > deadline:
                raise SystemExit(f"{instance} differs: {len(ours)} series here, {len(theirs)} there")
            time.sleep(0.5)
        found |= ours
    return found


def raw(port: int, instance: str, end: float) -> Series:
    """Return every sample of a target."""
    asked = urllib.parse.urlencode({"query": f'{{instance="{instance}"}}[1h]', "time": f"{end:.3f}"})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{asked}", timeout=60) as answer:
        result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    return {
        tuple(sorted(series["metric"].items())): [(round(at * 1000), float(v)) for at, v in series["values"]]
        for series in result
    }


def take(file: Path) -> None:
    """Take the samples, and print the bytes on disk and in memory."""
    tables: dict[str, Table] = {}
    with tempfile.TemporaryDirectory() as directory, Store(directory) as store:
        cache, before, maintained = LabelCache(), _resident(), 0
        for at, labels, step in _steps(file):
            if isinstance(step, Frame):
                ((table, values),) = step.parts  # a link keeps the table, and only numbers come
                table = tables.setdefault(labels["instance"], table)
                store.append(labels, Frame(step.time_ms, ((table, values),)))
            else:
                request = decode(decompress(step, 1 << 26), cache)
                store.append_series([Samples(*series) for series in request.series])
            if at - maintained >= MAINTAIN_MS:
                store.sync()
                store.maintain(at)
                maintained = at
        memory = _resident() - before
        print(json.dumps([blocks_of(store), memory]))


Step = tuple[int, dict[str, str], Frame | bytes]


def _steps(file: Path) -> Iterator[Step]:
    with file.open("rb") as opened:
        while opened.peek(1):
            yield pickle.load(opened)


def _frames(samples: Series) -> Iterator[Step]:
    targets: dict[str, Series] = {}
    for labels, points in samples.items():
        targets.setdefault(dict(labels)["instance"], {})[labels] = points
    frames: list[Step] = []
    for instance, own in targets.items():
        names = [{n: v for n, v in labels if n not in ("instance", "job")} for labels in own]
        series = tuple(
            (gauge(each.pop("__name__"), "A number.", *each), tuple(each.values())) for each in names
        )
        table = Table("scrape", 1, series)
        lines = [dict(points) for points in own.values()]
        for at in sorted({at for line in lines for at in line}):
            values = tuple(line.get(at, ABSENT) for line in lines)
            frames.append((at, {"instance": instance, "job": "node"}, Frame(at, ((table, values),))))
    return iter(sorted(frames, key=lambda frame: frame[0]))


def _requests(samples: Series) -> Iterator[Step]:
    by_time = sorted(
        ((at, number, value) for number, points in enumerate(samples.values()) for at, value in points),
        key=lambda each: each[0],
    )
    labels = [dict(each) for each in samples]
    for first in range(0, len(by_time), A_REQUEST):
        some = by_time[first : first + A_REQUEST]
        body = compress(encode([(labels[number], (at,), (value,)) for at, number, value in some]))
        yield some[-1][0], {}, body


def blocks(directory: Path) -> float:
    """Return the bytes a sample of a store that was left, once it is all in blocks."""
    with Store(directory) as store:
        groups = store.select([Matcher("job", "=", "node")], 0, 1 << 60)
        return blocks_of(store) / sum(int((~absent(group.values)).sum()) for group in groups)


def blocks_of(store: Store) -> int:
    """Return the bytes of blocks when everything is in them."""
    store.flush()
    return store.bytes_on_disk()[0]


def _resident() -> int:
    gc.collect()
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not tell how much memory is in use")


def _child(file: Path) -> tuple[int, int]:
    command = [sys.executable, __file__, "--take", str(file)]
    disk, memory = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return disk, memory


if __name__ == "__main__":
    main()
