"""The settings of the server's scraper."""

from __future__ import annotations

from vigie.config import Setting, number, seconds, switch, text, words

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
    Setting("scrape", "user", "", "The user's name for basic authentication.", text),
    Setting(
        "scrape",
        "password_file",
        "",
        "A file that holds the password; without it $VIGIE_SCRAPE_PASSWORD is used.",
        text,
    ),
    Setting(
        "scrape",
        "token_file",
        "",
        "A file that holds a bearer token; without it $VIGIE_SCRAPE_TOKEN is used.",
        text,
    ),
    Setting("scrape", "ca_file", "", "Trust these certificates instead of the system's.", text),
    Setting("scrape", "cert_file", "", "The certificate to show to exporters.", text),
    Setting("scrape", "key_file", "", "The key of cert_file, when it does not stand in it.", text),
    Setting("scrape", "server_name", "", "The name in the exporters' certificates, if not their host.", text),
    Setting("scrape", "insecure", False, "Do not check who an exporter is. Only to find a fault.", switch),
    Setting(
        "scrape",
        "file_sd",
        "",
        "The file for file_sd_configs of a Prometheus. Empty: targets.yaml in the data directory.",
        text,
    ),
)
