"""The log of agent and server: one line for each event, as text or as JSON, without secrets.

Whatever a message holds, it stays on its line: control characters are spelled out, so that nobody can write a
line of the log by sending one. A traceback follows in lines that are marked as such.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TextIO

from vigie.common.redaction import redact_url

LEVELS = ("debug", "info", "warning", "error")
FORMS = ("text", "json")
FIELDS = "fields"  # the attribute of a record that holds what JSON tells one by one
MARK = "    | "
NOT_PLAIN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def configure(level: str, form: str, stream: TextIO | None = None) -> None:
    """Log from this level on, in this form, to standard error unless another stream is given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])


def plain_text(text: str) -> str:
    """Return a text that stays on one line and shows what it holds."""
    return NOT_PLAIN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class TextFormatter(logging.Formatter):
    """Time, level and message; a traceback in marked lines below."""

    def format(self, record: logging.LogRecord) -> str:
        when = _time(record).strftime("%Y-%m-%d %H:%M:%S") + f",{int(record.msecs):03d}"
        line = f"{when} {record.levelname} {_message(record)}"
        return "\n".join([line, *(MARK + plain_text(row) for row in _traceback(record).splitlines())])


class JsonFormatter(logging.Formatter):
    """An object a line: time, level, logger, message, and what the record tells one by one."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": _time(record).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **getattr(record, FIELDS, {}),
        }
        if trace := _traceback(record):
            told["traceback"] = trace
        return json.dumps(told)


class RepeatFilter(logging.Filter):
    """Lets each warning of a logger through once a minute: strangers can cause them as often as they like."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds, self._clock = seconds, clock
        self._said: dict[str, float] = {}  # by the message before it is filled in, so that there are few

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the record is logged; errors always are."""
        now = self._clock()
        if record.levelno >= logging.ERROR:
            return True
        if now < self._said.get(record.msg, now):
            return False
        self._said[record.msg] = now + self._seconds
        return True


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC).astimezone()


def _message(record: logging.LogRecord) -> str:
    return plain_text(redact_url(record.getMessage()))


def _traceback(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    return redact_url(logging.Formatter().formatException(record.exc_info))
