"""Requests: parameters as Prometheus parses them, cursors."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Coroutine, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import HTTPConnection, Request

from vigie.query.errors import BadDataError
from vigie.query.functions.number_format import parse_number
from vigie.query.matchers import compile_value_test
from vigie.query.parser.grammar import ParseError
from vigie.query.parser.parse import parse_selector
from vigie.query.parser.regex_limits import check_regexes
from vigie.query.storage import Matcher
from vigie.server.http.bodies import AUTHENTICATED, BodyTooLargeError, CanceledError, read_body
from vigie.server.http.responses import Body
from vigie.server.identity import Identity
from vigie.server.parser_threads import parse

IDENTITY = "vigie.identity"  # where the scope of a request has who is calling
DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
CURSOR = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")
EARLIEST, LATEST = -(1 << 60), 1 << 60  # milliseconds: what all times fit into
MAX_FIELDS = 10_000
# How Prometheus spells the ends of time; its clients send them.
ENDS = {"-292273086-05-16T16:47:06Z": EARLIEST, "292277025-08-18T07:12:54.999999999Z": LATEST}
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_UNITS = {
    "y": 31_536_000_000,
    "w": 604_800_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1000,
    "ms": 1,
}
_DURATION = re.compile("".join(rf"(?:(\d+){unit})?" for unit in _UNITS), re.ASCII)
MAX_FORM = 2 << 20  # bytes; Prometheus takes 10 MB, of which each byte of escapes costs thirty here
MAX_ANONYMOUS_FORM = 1 << 20
MAX_SCALAR = 100  # characters of a time, a duration or a number


def identity_of(connection: HTTPConnection) -> Identity:
    """Return who makes a request that was let through."""
    identity: Identity = connection.scope[IDENTITY]
    return identity


def parse_limit(given: Parameters) -> int:
    """Return how many rows are wanted at most."""
    limit = parse_integer(given, "limit") if given.one("limit") else DEFAULT_LIMIT
    if not 1 <= limit <= MAX_LIMIT:
        raise BadDataError(f'invalid parameter "limit": it should be between 1 and {MAX_LIMIT}')
    return limit


def parse_integer(given: Parameters, name: str) -> int:
    """Return a whole number that must be given."""
    text = given.one(name)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise BadDataError(f'invalid parameter "{name}": it should be a whole number')
    return int(text)


def parse_cursor(given: Parameters) -> tuple[int, int] | None:
    """Return behind which time and number the page begins."""
    text = given.one("before")
    if not text:
        return None
    found = CURSOR.fullmatch(text)
    if not found:
        raise BadDataError('invalid parameter "before": it should be what an answer gave as "next"')
    return int(found[1]), int(found[2])


class Parameters:
    """The fields of an address and of a form; of several of one name the form's come first."""

    def __init__(self, query: bytes, form: bytes = b"") -> None:
        try:
            self._fields = [*_fields(form), *_fields(query)]
        except ValueError as error:
            raise BadDataError(f"error parsing form values: {error}") from None

    def one(self, name: str) -> str:
        """Return the first value of a field, or nothing."""
        return next((value for key, value in self._fields if key == name), "")

    def every(self, name: str) -> list[str]:
        return [value for key, value in self._fields if key == name]

    def scalar(self, name: str) -> str:
        """Return the first value of a field that is short if it makes any sense."""
        text = self.one(name)
        if len(text) > MAX_SCALAR:
            raise BadDataError(f'invalid parameter "{name}": {len(text)} characters')
        return text

    def time(self, name: str) -> int:
        """Return a time that must be given, in milliseconds."""
        return _time(self.scalar(name), f'invalid parameter "{name}": ')

    def time_or(self, name: str, otherwise: int) -> int:
        """Return a time that may be left out, in milliseconds."""
        text = self.scalar(name)
        where = f"invalid parameter \"{name}\": Invalid time value for '{name}': "
        return _time(text, where) if text else otherwise

    def duration(self, name: str) -> int:
        """Return a duration that must be given, in milliseconds; one above zero is never made zero."""
        return _duration(self.scalar(name), f'invalid parameter "{name}": ')

    def duration_or_none(self, name: str) -> int | None:
        """Return a duration that may be left out, in milliseconds."""
        return self.duration(name) if self.one(name) else None

    def limit(self, name: str = "limit") -> int | None:
        """Return how many results are wanted at most; nothing and 0 mean all."""
        text = self.scalar(name)
        if not text:
            return None
        if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
            raise BadDataError(
                f'invalid parameter "{name}": cannot parse {json.dumps(text)} to a valid limit'
            )
        if int(text) < 0:
            raise BadDataError(f'invalid parameter "{name}": limit must be non-negative')
        return int(text) or None

    def selectors(self) -> list[list[Matcher]]:
        texts = self.every("match[]")
        try:
            check_regexes(" ".join(texts))
        except ParseError as error:
            raise BadDataError(f'invalid parameter "match[]": {error}') from None
        return [_selector(text) for text in texts]


def label_name(escaped: str) -> str:
    """Return the label that a path names: what begins with U__ stands for other letters.

    >>> label_name("U__a_2e_b__c")
    'a.b_c'
    """
    if not escaped.startswith("U__"):
        return escaped
    try:
        return re.sub(r"_([0-9a-fA-F]*)_", _letter, escaped.removeprefix("U__"))
    except (ValueError, OverflowError):
        return escaped


def _letter(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else "_"


def _fields(text: bytes) -> list[tuple[str, str]]:
    return parse_qsl(
        text.decode("latin-1"), keep_blank_values=True, errors="replace", max_num_fields=MAX_FIELDS
    )


def _time(text: str, where: str) -> int:
    moment = ENDS.get(text)
    if moment is None:
        moment = _unix(text)
    if moment is None:
        moment = _calendar(text)
    if moment is None:
        raise BadDataError(f"{where}cannot parse {json.dumps(text)} to a valid timestamp")
    return moment


def _unix(text: str) -> int | None:
    number = _number(text)
    if number is None or not EARLIEST <= number * 1000 <= LATEST:
        return None
    fraction, whole = math.modf(number)
    # Prometheus cuts to whole nanoseconds, then to whole milliseconds.
    nanoseconds = int(math.copysign(math.floor(abs(fraction) * 1000 + 0.5) / 1000, fraction) * 1e9)
    return int(whole) * 1000 + nanoseconds // 1_000_000


def _calendar(text: str) -> int | None:
    match = _RFC3339.fullmatch(text)
    if not match:
        return None
    try:
        moment = datetime.fromisoformat(match[1] + match[3])
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000 + int(((match[2] or "") + "000")[:3])


def _duration(text: str, where: str) -> int:
    number = _number(text)
    if number is not None:
        if not math.isfinite(number) or abs(number) >= 2**63 / 1e9:
            raise BadDataError(
                f"{where}cannot parse {json.dumps(text)} to a valid duration. It overflows int64"
            )
        return max(int(number * 1000), 1) if number > 0 else int(number * 1000)
    match = _DURATION.fullmatch(text)
    if not match or not text:
        raise BadDataError(f"{where}cannot parse {json.dumps(text)} to a valid duration")
    total = sum(int(count) * unit for count, unit in zip(match.groups("0"), _UNITS.values(), strict=True))
    if total >= 2**63 // 1_000_000:
        raise BadDataError(f"{where}cannot parse {json.dumps(text)} to a valid duration")
    return total


def _number(text: str) -> float | None:
    number = None if "_" in text else parse_number(text)
    return None if number is None or math.isnan(number) else number


def _selector(text: str) -> list[Matcher]:
    try:
        matchers = parse_selector(text)
    except BadDataError as error:
        why = (
            str(error)
            .removeprefix('invalid parameter "query": ')
            .removeprefix('invalid parameter "match[]": ')
        )
        raise BadDataError(f'invalid parameter "match[]": {why}') from None
    if all(matches_empty(matcher) for matcher in matchers):
        raise BadDataError('invalid parameter "match[]": match[] must contain at least one non-empty matcher')
    return matchers


def matches_empty(matcher: Matcher) -> bool:
    """Tell whether a series without the label fits."""
    return compile_value_test(matcher)("")


def merge_sorted(sets: Sequence[Sequence[str]]) -> list[str]:
    """Return what any of some sorted lists holds, sorted, each once."""
    return list(sets[0]) if len(sets) == 1 else sorted({word for words in sets for word in words})


async def read_parameters(request: Request) -> Parameters:
    """Return the parameters of a request, from its address and its form."""
    form = b""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind == "application/x-www-form-urlencoded":
        try:
            form = await read_body(
                request, MAX_FORM if AUTHENTICATED in request.scope else MAX_ANONYMOUS_FORM
            )
        except BodyTooLargeError as error:
            raise BadDataError(f"error parsing form values: {error}") from None
    query = request.scope["query_string"]
    return await parse(len(query) + len(form), Parameters, query, form)


async def cancel_on_disconnect(request: Request, asking: Coroutine[Any, Any, Body]) -> Body:
    """Return the answer; when the client leaves first, the question is cancelled."""
    question = asyncio.ensure_future(asking)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait([question, leaving], return_when=asyncio.FIRST_COMPLETED)
        if question.done():
            return question.result()
        raise CanceledError("query was canceled: the client left")
    finally:
        for task in (question, leaving):
            task.cancel()
        await asyncio.wait([question, leaving])


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
