"""Linux distribution, from /etc/os-release."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from datetime import date

from vigie.model import Sample, gauge, info
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    INFO := info(
        "node_os_info",
        "Name, id and version of the distribution.",
        "build_id",
        "id",
        "id_like",
        "image_id",
        "image_version",
        "name",
        "pretty_name",
        "variant",
        "variant_id",
        "version",
        "version_codename",
        "version_id",
    ),
    VERSION := gauge(
        "node_os_version", "Version of the distribution as a number, major.minor.", "id", "id_like", "name"
    ),
    SUPPORT_END := gauge(
        "node_os_support_end_timestamp_seconds", "Unix time at which support of the distribution ends."
    ),
)

PLACES = ("etc/os-release", "usr/lib/os-release")
MAJOR_MINOR = re.compile(r"[0-9]+(\.[0-9]+)?")


def read(host: Host) -> Iterator[Sample]:
    """Yield the distribution, and if given its version and end of support."""
    text = next(filter(None, map(host.root.read_text, PLACES)), None)
    if text is None:
        raise Unavailable("no os-release in /etc or /usr/lib")
    if host.cache.get("text") != text:
        host.cache["samples"] = list(_build_samples(host, text))
        host.cache["text"] = None if host.notes else text  # an invalid file is noted every time
    yield from host.cache["samples"]


def _build_samples(host: Host, text: str) -> Iterator[Sample]:
    facts = _parse_facts(host, text)
    yield INFO, tuple(facts.get(label, "") for label in INFO.labels), 1
    version = MAJOR_MINOR.match(facts.get("version_id", ""))
    if version:
        yield VERSION, tuple(facts.get(label, "") for label in VERSION.labels), float(version.group())
    if facts.get("support_end"):
        yield SUPPORT_END, (), _parse_date(host, facts["support_end"])


def _parse_facts(host: Host, text: str) -> dict[str, str]:
    facts: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            try:
                facts[name.lower()] = " ".join(shlex.split(value))
            except ValueError as error:
                host.note(f"os-release {name}", error)
    return facts


def _parse_date(host: Host, day: str) -> float | None:
    try:
        return (date.fromisoformat(day) - date(1970, 1, 1)).total_seconds()
    except ValueError as error:
        host.note("os-release SUPPORT_END", error)
        return None


SOURCE = Source("os", METRICS, read, every=120)
