"""What is registered is scraped into the store, and what fails or goes ends there."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.server.scrape.exporter import Exporter, exporting, said
from vigie.common.endpoint import Secret
from vigie.model import Frame
from vigie.model.nan import is_absent, is_stale
from vigie.query.storage import Matcher
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.scrape.config import ScrapeConfig, ScrapeCredentials, networks
from vigie.server.scrape.networks import parse_networks
from vigie.server.scrape.scrape_loop import TargetHealth, phase
from vigie.server.scrape.scraper import Scraper
from vigie.server.scrape.target import Target, target_of
from vigie.server.scrape.target_store import TargetStore
from vigie.store.errors import InvalidInputError, WriteFailedError
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store

RULES = ScrapeConfig(interval=0.05, timeout=60)
DAY = 86_400_000
Series = dict[str, list[float]]


class Bench:
    """A store, targets and a scraper."""

    def __init__(self, store: Store, targets: TargetStore, scraper: Scraper) -> None:
        self.store, self.targets, self.scraper = store, targets, scraper

    def add(self, exporter: Exporter, **labels: str) -> Target:
        target = target_of(exporter.address, {"job": "test", **labels})
        self.targets.add([target])
        return target

    def series(self, name: str, **labels: str) -> Series:
        return series(self.store, name, **labels)

    def state(self, target: Target) -> TargetHealth:
        return self.scraper.states().get(target.url, TargetHealth())


def series(store: Store, name: str, **labels: str) -> Series:
    """Return the samples of all series of a name, by their other labels."""
    matchers = [Matcher("__name__", "=", name), *(Matcher(k, "=", v) for k, v in labels.items())]
    found: Series = {}
    for group in store.select(matchers, 0, now_ms() + DAY):
        for row, values in zip(group.labels, group.values.tolist(), strict=True):
            rest = sorted((k, v) for k, v in row.items() if k != "__name__")
            found[",".join(f"{k}={v}" for k, v in rest)] = [v for v in values if not is_absent(v)]
    return found


@contextlib.contextmanager
def scraping(directory: Path, rules: ScrapeConfig = RULES) -> Iterator[Bench]:
    """Scrape into a store of this directory."""
    with (
        Store(directory / "store") as store,
        contextlib.closing(TargetStore(directory / "t.sqlite")) as targets,
    ):
        scraper = Scraper(targets, store, rules, now_ms, DAY)
        try:
            yield Bench(store, targets, scraper)
        finally:
            scraper.close()


def wait(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def ended(values: Mapping[str, list[float]]) -> bool:
    """Tell whether all of these series have ended, if there are any."""
    return bool(values) and all(is_stale(row[-1]) for row in values.values())


def test_added_target_is_scraped_with_its_labels_and_the_usual_report(tmp_path: Path) -> None:
    with exporting('a{b="c"} 5\nb 6\n') as exporter, scraping(tmp_path) as bench:
        bench.add(exporter, hostname="n1", node_type="cpu")
        wait(lambda: len(bench.series("a").get("b=c,hostname=n1,instance=n1,job=test,node_type=cpu", [])) > 2)
        target = "hostname=n1,instance=n1,job=test,node_type=cpu"
        assert set(bench.series("up")[target]) == {1.0}
        assert set(bench.series("scrape_samples_scraped")[target]) == {2.0}
        assert set(bench.series("scrape_samples_post_metric_relabeling")[target]) == {2.0}
        assert bench.series("scrape_series_added")[target][:2] == [2.0, 0.0]
        assert all(0 < seconds < 60 for seconds in bench.series("scrape_duration_seconds")[target])
        assert "Accept-Encoding: gzip" in exporter.requests[0]
        assert exporter.connections == 1


def test_what_an_exporter_says_of_its_metrics_is_kept(tmp_path: Path) -> None:
    text = "# HELP a_total How \\\\ many.\\n\n# TYPE a_total counter\na_total 1\n"
    with (
        exporting(f"{text}# UNIT b seconds\n# TYPE b untyped\nb 1\n") as exporter,
        scraping(tmp_path) as bench,
    ):
        bench.add(exporter)
        wait(lambda: len(bench.scraper.families()) == 2)
        assert bench.scraper.families()["a_total"] == ("counter", "How \\ many.\n", "")
        assert bench.scraper.families()["b"] == ("unknown", "", "seconds")


def test_failing_scrape_is_up_0_and_ends_every_series_until_it_works_again(tmp_path: Path) -> None:
    with exporting("a 5\n") as exporter, scraping(tmp_path) as bench:
        target = bench.add(exporter)
        wait(lambda: bench.state(target).health == "up")
        exporter.reply = lambda _: said("no", status="503 Service Unavailable")
        wait(lambda: ended(bench.series("a")))
        assert bench.series("up")["instance=127.0.0.1,job=test"][-1] == 0.0
        wait(lambda: "503" in bench.state(target).error)  # said after the series are seen to have ended
        table, numbers = bench.scraper.table()
        said_of = {
            (metric.name, *labels): n for (metric, labels), n in zip(table.series, numbers, strict=True)
        }
        assert (said_of["vigie_server_targets", "down"], said_of["vigie_server_targets", "up"]) == (1, 0)
        assert 0 < said_of["vigie_server_scrapes_failed_total",] < said_of["vigie_server_scrapes_total",]
        assert said_of["vigie_server_scraped_samples_total",] >= 1
        exporter.reply = lambda _: said("a 6\n")
        wait(lambda: bench.series("a")["instance=127.0.0.1,job=test"][-1] == 6.0)
        rows = bench.series("a")["instance=127.0.0.1,job=test"]
        assert [value for value in rows if not is_stale(value)] == sorted(
            rows[:1] * (rows.count(5.0)) + [6.0] * rows.count(6.0)
        )
        assert sum(map(is_stale, rows)) == 1


@pytest.mark.parametrize("body", ["a 1\nb\n", "<html>", 'a{b="'])
def test_garbage_is_a_failed_scrape_and_stores_nothing_of_it(tmp_path: Path, body: str) -> None:
    with exporting(body) as exporter, scraping(tmp_path) as bench:
        target = bench.add(exporter)
        wait(lambda: bench.state(target).health == "down")
        assert bench.series("a") == {}
        assert set(bench.series("up")["instance=127.0.0.1,job=test"]) == {0.0}


def test_series_of_an_exporter_that_died_while_the_server_was_away_end(tmp_path: Path) -> None:
    with exporting("a 5\n") as exporter:
        with scraping(tmp_path) as bench:
            bench.add(exporter)
            wait(lambda: bool(bench.series("a")))
        assert not ended(series_of(tmp_path, "a"))
        exporter.reply = lambda _: b""
        with scraping(tmp_path) as bench:
            wait(lambda: ended(bench.series("a")))


def series_of(directory: Path, name: str) -> Series:
    with Store(directory / "store") as store:
        return series(store, name)


def test_removed_target_is_scraped_no_more_and_all_its_series_end(tmp_path: Path) -> None:
    with exporting("a 5\n") as exporter, scraping(tmp_path) as bench:
        target = bench.add(exporter)
        wait(lambda: bool(bench.series("a")))
        bench.targets.remove("127.0.0.1")
        wait(lambda: ended(bench.series("up")) and ended(bench.series("a")))
        wait(lambda: target.url not in bench.scraper.states())
        assert ended(bench.series("scrape_duration_seconds"))


def test_target_with_other_labels_goes_on_under_those(tmp_path: Path) -> None:
    with exporting("a 5\n") as exporter, scraping(tmp_path) as bench:
        bench.add(exporter, node_type="cpu")
        wait(lambda: bool(bench.series("a", node_type="cpu")))
        bench.add(exporter, node_type="gpu")
        wait(lambda: ended(bench.series("a", node_type="cpu")))
        wait(lambda: bool(bench.series("a", node_type="gpu")))


def test_own_job_of_a_series_becomes_exported(tmp_path: Path) -> None:
    text = f'a{{job="own"}} 5\nb{{job="own"}} 1 {now_ms()}\n'
    with exporting(text) as exporter, scraping(tmp_path) as bench:
        bench.add(exporter)
        wait(lambda: bool(bench.series("b")))
        for name in "ab":
            assert list(bench.series(name)) == ["exported_job=own,instance=127.0.0.1,job=test"]


def test_honored_labels_replace_those_of_the_target_and_end_with_their_series(tmp_path: Path) -> None:
    with (
        exporting('a{job="own"} 5\na 6\nb{instance=""} 7\n') as exporter,
        scraping(tmp_path, RULES._replace(honor_labels=True)) as bench,
    ):
        bench.add(exporter)
        wait(lambda: bool(bench.series("b")))
        assert set(bench.series("a")) == {"instance=127.0.0.1,job=own", "instance=127.0.0.1,job=test"}
        assert list(bench.series("b")) == ["job=test"]
        exporter.reply = lambda _: said("a 6\n")
        wait(lambda: ended(bench.series("a", job="own")) and ended(bench.series("b")))
        assert not ended(bench.series("a", job="test"))


def test_times_of_the_exporter_are_kept_and_far_ones_left_out(tmp_path: Path) -> None:
    now = now_ms()
    text = f"a 5 {now - 1000}\nold 5 {now - 2 * DAY}\nahead 5 {now + DAY // 2}\nplain 1\n"
    with exporting(text) as exporter, scraping(tmp_path) as bench:
        target = bench.add(exporter)
        wait(lambda: len(exporter.requests) > 2 and bench.state(target).health == "up")
        assert bench.series("a") == {"instance=127.0.0.1,job=test": [5.0]}
        assert bench.series("old") == bench.series("ahead") == {}
        assert set(bench.series("scrape_samples_scraped")["instance=127.0.0.1,job=test"]) == {4.0}


def test_slow_exporter_is_cut_off_and_delays_nobody(tmp_path: Path) -> None:
    with exporting("a 1\n") as slow, exporting("b 1\n") as quick:
        slow.reply = lambda _: said("a 1\n") if slow.leaving.wait(60) else b""
        with scraping(tmp_path, RULES._replace(timeout=0.2)) as bench:
            stuck = bench.add(slow, job="slow")
            bench.add(quick)
            wait(lambda: len(bench.series("b").get("instance=127.0.0.1,job=test", [])) > 2)
            wait(lambda: "within 0.2 s" in bench.state(stuck).error)
            slow.leaving.set()


def test_too_many_samples_are_a_failed_scrape(tmp_path: Path) -> None:
    with exporting("a 1\nb 2\n") as exporter, scraping(tmp_path, RULES._replace(most_samples=1)) as bench:
        target = bench.add(exporter)
        wait(lambda: "the bound is 1" in bench.state(target).error)
        assert bench.series("a") == {}


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (
            ScrapeCredentials(token=Secret("token"), hosts=networks(["127.0.0.0/8"])),
            "Authorization: Bearer s3cret",
        ),
        (
            ScrapeCredentials("me", Secret("token"), hosts=networks(["127.0.0.1"])),
            "Authorization: Basic bWU6czNjcmV0",
        ),
        (ScrapeCredentials(token=Secret("token"), hosts=networks(["10.0.0.0/8", "other"])), ""),
    ],
)
def test_credentials_are_shown_to_their_hosts_alone(
    tmp_path: Path, credentials: ScrapeCredentials, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("token").write_text("s3cret\n")
    with exporting("a 1\n") as exporter, scraping(tmp_path, RULES._replace(credentials=credentials)) as bench:
        bench.add(exporter)
        wait(lambda: bool(exporter.requests))
        assert (header or "\r\n") in exporter.requests[0]
        assert ("Authorization" in exporter.requests[0]) == bool(header)


def test_missing_secret_is_a_failed_scrape_that_names_the_file(tmp_path: Path) -> None:
    credentials = ScrapeCredentials(token=Secret("/nowhere/token"), hosts=("127.0.0.1",))
    with exporting("a 1\n") as exporter, scraping(tmp_path, RULES._replace(credentials=credentials)) as bench:
        target = bench.add(exporter)
        wait(lambda: "/nowhere/token" in bench.state(target).error)


def test_full_disk_is_told_and_scraping_goes_on(tmp_path: Path) -> None:
    class Full:
        tries = 0

        def append(self, node_labels: Mapping[str, str], frame: Frame) -> None:  # noqa: ARG002
            self.tries += 1
            raise WriteFailedError("no space left")

        def append_series(self, series: Iterable[Samples]) -> None:  # noqa: ARG002
            raise WriteFailedError("no space left")

        def sync(self) -> None:
            raise WriteFailedError("no space left")

    full = Full()
    with exporting("a 1\n") as exporter, contextlib.closing(TargetStore(tmp_path / "t.sqlite")) as targets:
        target = target_of(exporter.address, {"job": "test"})
        targets.add([target])
        scraper = Scraper(targets, full, RULES, now_ms, DAY)
        try:
            wait(lambda: full.tries > 3)
            assert "no space left" in scraper.states()[target.url].error
        finally:
            scraper.close()


def test_scraper_that_is_closed_at_once_ends(tmp_path: Path) -> None:
    with scraping(tmp_path) as bench:
        for _ in range(20):
            Scraper(bench.targets, bench.store, RULES, now_ms, DAY).close()


def test_targets_spread_over_the_interval() -> None:
    phases = [phase(target_of(f"10.0.{i // 250}.{i % 250}:9100", {"job": "node"})) for i in range(1000)]
    tenths = [sum(int(p * 10) == tenth for p in phases) for tenth in range(10)]
    assert all(60 < count < 140 for count in tenths), tenths


def test_series_that_the_store_refuses_are_a_failed_scrape(tmp_path: Path) -> None:
    class Picky(Store):
        def append(self, node_labels: Mapping[str, str], frame: Frame) -> None:
            if any(metric.name == "bad" for table, _ in frame.parts for metric, _ in table.series):
                raise InvalidInputError("bad is bad")
            super().append(node_labels, frame)

    with (
        Picky(tmp_path / "store") as store,
        contextlib.closing(TargetStore(tmp_path / "t.sqlite")) as targets,
    ):
        with exporting("a 1\nbad 1\n") as exporter:
            target = target_of(exporter.address, {"job": "test"})
            targets.add([target])
            scraper = Scraper(targets, store, RULES, now_ms, DAY)
            try:
                wait(lambda: bool(series(store, "up")))
            finally:
                scraper.close()
        assert set(series(store, "up")["instance=127.0.0.1,job=test"]) == {0.0}
        assert "bad is bad" in scraper.states()[target.url].error


def test_exporter_that_is_not_one_shows_nothing_of_its_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with exporting("DB_PASSWORD=hunter2\n") as exporter, scraping(tmp_path) as bench:
        target = bench.add(exporter)
        wait(lambda: bench.state(target).health == "down")
        assert "hunter2" not in bench.state(target).error
    assert "hunter2" not in caplog.text


def test_sample_limit_holds_by_default_also_for_large_answers(tmp_path: Path) -> None:
    text = "".join(f'a{{n="{number}"}} 1\n' for number in range(ScrapeConfig().most_samples + 1))
    with exporting(text) as exporter, scraping(tmp_path, RULES._replace(timeout=30.0)) as bench:
        target = bench.add(exporter)
        wait(lambda: "scrape.sample_limit" in bench.state(target).error)
        assert bench.series("a") == {}


def test_network_that_is_not_listed_is_not_scraped(tmp_path: Path) -> None:
    rules = RULES._replace(networks=parse_networks(["127.0.0.2/32"]))
    with exporting("a 1\n") as exporter, scraping(tmp_path, rules) as bench:
        target = bench.add(exporter)
        wait(lambda: "scrape.networks" in bench.state(target).error)
        assert exporter.connections == 0
