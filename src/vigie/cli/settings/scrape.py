"""The settings of the server's scraper."""

from __future__ import annotations

from vigie.common.config import Setting, number, peer, seconds, switch, text, words

SCRAPE = (
    Setting(
        "scrape",
        "interval",
        10.0,
        "Seconds between two scrapes of an exporter that was added by /add_node.",
        seconds(1, 3600),
    ),
    Setting(
        "scrape",
        "timeout",
        0.0,
        "Seconds that a scrape may take, no more than the interval. 0: the interval, and 10 at most.",
        seconds(0, 3600),
    ),
    Setting(
        "scrape",
        "sample_limit",
        0.0,
        "Samples that one scrape may bring; one with more fails. 0: no bound.",
        number(0, 1e9),
    ),
    Setting(
        "scrape",
        "body_megabytes",
        64.0,
        "How large what an exporter says may be, unpacked; a larger one fails.",
        number(0.001, 4096),
    ),
    Setting(
        "scrape",
        "honor_labels",
        False,
        "Let a label that a series brings win over that of its target, which else makes it exported_*.",
        switch,
    ),
    Setting(
        "scrape", "honor_timestamps", True, "Keep the times that an exporter gives with its samples.", switch
    ),
    Setting(
        "scrape",
        "secrets_for",
        [],
        "Who is shown user and password or the token: host names, addresses, or networks such as "
        "10.0.0.0/8. Nobody else is, as whoever may join may add targets.",
        words,
    ),
    *peer("scrape"),
    Setting(
        "scrape",
        "file_sd",
        "",
        "The file for file_sd_configs of a Prometheus. Empty: targets.yaml in the data directory.",
        text,
    ),
)
