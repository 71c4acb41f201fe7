"""What can go wrong with a query, in the kinds that Prometheus's API tells apart."""

from __future__ import annotations


class QueryError(Exception):
    """A query without an answer; `kind` is the errorType and `status` the HTTP status of Prometheus's API."""

    kind = "internal"
    status = 500


class BadDataError(QueryError):
    """The question itself is wrong: it cannot be parsed, or its parameters make no sense."""

    kind = "bad_data"
    status = 400


class ExecutionError(QueryError):
    """The question is well formed, but the data do not allow an answer, or it is too big."""

    kind = "execution"
    status = 422


class TooManySamplesError(ExecutionError):
    """The question would hold more samples than it may."""

    def __init__(self) -> None:
        super().__init__("query processing would load too many samples into memory in query execution")


class QueryTimeoutError(QueryError):
    """The answer took longer than allowed."""

    kind = "timeout"
    status = 503


SAME_LABELSET = "vector cannot contain metrics with the same labelset"


def with_position(kind: str, text: str) -> QueryError:
    for known in (BadDataError, ExecutionError, QueryTimeoutError):
        if known.kind == kind:
            return known(text)
    return QueryError(text)
