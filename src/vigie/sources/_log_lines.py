"""Parses kernel messages: time and text, in each log format."""

from __future__ import annotations

import calendar
import re
import time
from datetime import datetime
from typing import NamedTuple

# priority,sequence,microseconds,flags[,more];text - a record of /dev/kmsg
RECORD = re.compile(r"^(\d{1,6}),(\d{1,19}),(\d{1,18}),[^;]{0,64};(.*)$", re.ASCII)
KERNEL = 0  # facility; others are written by programs
STAMP = re.compile(r"^\[\s*\d{1,9}\.\d{1,9}\](?:\[\s*\w{1,12}\])?\s")
ISO = re.compile(
    r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\s+\S{1,255}\s+kernel:\s(.*)$"
)
CLASSIC = re.compile(
    r"^([A-Z][a-z]{2})\s{1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)\s+\S{1,255}\s+kernel:\s(.*)$", re.ASCII
)
MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
DAY_MS = 86_400_000


class LogRecord(NamedTuple):
    sequence: int
    since_boot_ms: int
    text: str
    by_kernel: bool


class LogLine(NamedTuple):
    """A kernel message and its time."""

    time_ms: int
    text: str


def parse_record(line: str) -> LogRecord | None:
    """Parse a record of /dev/kmsg, or return None."""
    match = RECORD.match(line)
    if match is None:
        return None
    priority, sequence, microseconds = (int(match.group(place)) for place in (1, 2, 3))
    return LogRecord(sequence, microseconds // 1000, match.group(4), priority >> 3 == KERNEL)


def parse_logged(line: str, now_ms: int, offset: int) -> LogLine | None:
    """Parse a kernel message of a log file, or return None. `offset` is that of the time zone, in seconds."""
    match = ISO.match(line)
    if match:
        moment = _parse_iso(match.group(1), offset)
    else:
        match = CLASSIC.match(line)
        moment = _parse_classic(match, now_ms, offset) if match else None
    if match is None or moment is None:
        return None
    return LogLine(min(moment, now_ms), STAMP.sub("", match.group(match.lastindex or 0)))


def _parse_iso(text: str, offset: int) -> int | None:
    # Python before 3.11 accepts neither Z nor nine decimals.
    text = re.sub(r"(\.\d{1,6})\d*", lambda found: found.group(1).ljust(7, "0"), text)
    text = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", text.replace("Z", "+00:00"))
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return (calendar.timegm(moment.timetuple()) - offset) * 1000
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _parse_classic(match: re.Match[str], now_ms: int, offset: int) -> int | None:
    """Return the time of a line without a year: the latest year for which it is not in the future."""
    month = MONTHS.get(match.group(1))
    if month is None:
        return None
    day, hour, minute, second = (int(match.group(place)) for place in range(2, 6))
    year = time.gmtime(now_ms // 1000 + offset).tm_year
    for candidate in (year + 1, year, year - 1):
        try:
            moment = datetime(candidate, month, day, hour, minute, min(second, 59))
        except ValueError:
            continue  # 29 February in another year, or invalid
        since = (calendar.timegm(moment.timetuple()) - offset) * 1000
        if since <= now_ms + DAY_MS // 2:
            return since
    return None
