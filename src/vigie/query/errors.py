"""Query errors, with the error types of Prometheus's API."""

from __future__ import annotations


class QueryError(Exception):
    """Base class; `kind` is the errorType and `status` the HTTP status of Prometheus's API."""

    kind = "internal"
    status = 500


class BadDataError(QueryError):
    """The query cannot be parsed, or its parameters are invalid."""

    kind = "bad_data"
    status = 400


class ExecutionError(QueryError):
    """The query is valid, but cannot be evaluated on this data, or is too big."""

    kind = "execution"
    status = 422


class TooManySamplesError(ExecutionError):
    """The query would hold more samples than allowed."""

    def __init__(self) -> None:
        super().__init__("query processing would load too many samples into memory in query execution")


class QueryTimeoutError(QueryError):
    """The query took longer than allowed."""

    kind = "timeout"
    status = 503


SAME_LABELSET = "vector cannot contain metrics with the same labelset"


def error_of_kind(kind: str, text: str) -> QueryError:
    for known in (BadDataError, ExecutionError, QueryTimeoutError):
        if known.kind == kind:
            return known(text)
    return QueryError(text)
