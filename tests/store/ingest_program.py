"""The child of test_store_kill: appends frames for ever, and says on its output which are acknowledged."""

from __future__ import annotations

import random
import struct
import sys
from itertools import count

from tests.store.frames import frame
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store

HEAD_LIMITS = HeadLimits(head_rows=8, keep_ms=50, block_ms=200)
NODES = ("n1", "n2", "n3")
SENSORS = tuple("abcdefgh")


def times_of(step: int) -> list[int]:
    """Return the times of a step's frames; now and then a late one is among them."""
    return [step * 10, step * 10 - 255] if step % 25 == 7 else [step * 10]


def values(node: str, time: int) -> tuple[list[str], list[float]]:
    """Return what a node had at a time: any bit pattern, and series that come and go."""
    chance = random.Random(f"{node} {time}")
    first = time // 400 % 3
    words = [chance.getrandbits(64) if chance.random() < 0.3 else 0x4059000000000000 for _ in range(10)]
    return list(SENSORS[first : first + 5]), [struct.unpack("<d", struct.pack("<Q", w))[0] for w in words]


def main(directory: str, first: int) -> None:
    """Append, sync, acknowledge; with blocks written in between."""
    store = Store(directory, head_limits=HEAD_LIMITS, segment_bytes=20_000)
    for step in count(first):
        for node in NODES:
            for time in times_of(step):
                store.append({"instance": node, "job": "node"}, frame(time, *values(node, time)))
        store.sync()
        print(step, flush=True)
        if step % 5 == 0:
            store.maintain(step * 10)
        if step % 97 == 0:
            store.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
