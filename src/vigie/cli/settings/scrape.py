"""Settings of the server's scraper."""

from __future__ import annotations

from vigie.common.config import Setting, number, peer, seconds, switch, text, words

SETTINGS = (
    Setting(
        "scrape",
        "interval",
        10.0,
        "Seconds between scrapes of an exporter that was added by /add_node.",
        seconds(1, 3600),
    ),
    Setting(
        "scrape",
        "timeout",
        0.0,
        "Scrape timeout, at most the interval. 0: the interval, at most 10.",
        seconds(0, 3600),
    ),
    Setting(
        "scrape",
        "sample_limit",
        100_000.0,
        "Maximum samples of a scrape; one with more fails. 0: no limit.",
        number(0, 1e9),
    ),
    Setting(
        "scrape",
        "body_megabytes",
        32.0,
        "Maximum size of a scrape, decompressed; a larger one fails.",
        number(0.001, 4096),
    ),
    Setting(
        "scrape",
        "networks",
        [],
        "Networks that may be scraped, such as 10.0.0.0/8. Empty: all but link-local, multicast and cloud "
        "metadata addresses. Names are checked by the address they resolve to.",
        words,
    ),
    Setting(
        "scrape",
        "honor_labels",
        False,
        "Keep labels of a series that its target has too, which else become exported_*.",
        switch,
    ),
    Setting("scrape", "honor_timestamps", True, "Keep timestamps of exporters.", switch),
    Setting(
        "scrape",
        "secrets_for",
        [],
        "Hosts that credentials are sent to: names, addresses, or networks such as 10.0.0.0/8. Required, as "
        "every node may add targets.",
        words,
    ),
    *peer("scrape"),
    Setting(
        "scrape",
        "file_sd",
        "",
        "File for file_sd_configs of a Prometheus. Empty: targets.yaml in the data directory.",
        text,
    ),
)
