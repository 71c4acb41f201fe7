"""What is scraped goes on to remote write as it is stored: labels, values, and the ends of series."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.server.scrape.exporter import exporting
from tests.server.scrape.test_scraper import RULES, wait
from tests.sinks.peer import Peer
from vigie.common.endpoint import Endpoint as Address
from vigie.model.nan import STALE_BITS, float_from_bits
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.scrape.target import target_of
from vigie.server.scrape.target_store import TargetStore
from vigie.server.services import ScrapeServices
from vigie.sinks._remote_write.sender import RemoteWrite, RemoteWriteOptions
from vigie.store.store import Store

DAY = 86_400_000
QUICK = RemoteWriteOptions(batch_samples=1, batch_seconds=0.01)
LABELS = {"job": "own", "instance": "n1", "rack": "r1"}


def values(peer: Peer, name: str) -> dict[str, list[float]]:
    """Return what came of a name, by the other labels."""
    found: dict[str, list[float]] = {}
    for key, _, bits in list(peer.taken):
        labels = dict(key)
        if labels.pop("__name__") == name:
            found.setdefault(str(sorted(labels.items())), []).append(float_from_bits(bits))
    return found


def has_ended(peer: Peer, name: str) -> bool:
    newest = {key: bits for key, _, bits in list(peer.taken) if dict(key)["__name__"] == name}
    return bool(newest) and set(newest.values()) == {STALE_BITS}


def test_scraped_samples_are_passed_on_with_their_labels_and_their_ends(tmp_path: Path) -> None:
    with (
        Peer() as peer,
        exporting('a{job="inner"} 5\nb 6\n') as exporter,
        Store(tmp_path / "store") as store,
        contextlib.closing(RemoteWrite(Address(peer.url), tmp_path / "queue", QUICK)) as sink,
        contextlib.closing(TargetStore(tmp_path / "targets.sqlite")) as targets,
        contextlib.closing(ScrapeServices(targets, tmp_path, store, RULES, now_ms, DAY, pass_on=sink)),
    ):
        targets.add([target_of(exporter.address, LABELS)])
        wait(lambda: values(peer, "a") != {})
        own = [("exported_job", "inner"), *sorted(LABELS.items())]
        assert set(values(peer, "a")) == {str(own)}
        assert values(peer, "a")[str(own)][0] == 5.0
        assert values(peer, "up")[str(sorted(LABELS.items()))][0] == 1.0
        targets.remove("127.0.0.1")
        wait(lambda: has_ended(peer, "a") and has_ended(peer, "b") and has_ended(peer, "up"))
        wait(lambda: sink._frames.targets() == [])
        assert len(store.select([], 0, now_ms() + DAY)) > 0


def test_samples_with_times_of_their_own_are_passed_on_with_them(tmp_path: Path) -> None:
    time = now_ms() - 5000
    with (
        Peer() as peer,
        exporting(f"timed 5 {time}\n") as exporter,
        Store(tmp_path / "store") as store,
        contextlib.closing(RemoteWrite(Address(peer.url), tmp_path / "queue", QUICK)) as sink,
        contextlib.closing(TargetStore(tmp_path / "targets.sqlite")) as targets,
        contextlib.closing(ScrapeServices(targets, tmp_path, store, RULES, now_ms, DAY, pass_on=sink)),
    ):
        targets.add([target_of(exporter.address, LABELS)])
        wait(lambda: values(peer, "timed") != {})
        assert {at for key, at, _ in peer.taken if dict(key)["__name__"] == "timed"} == {time}
