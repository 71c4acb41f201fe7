"""Errors of the store, with messages for operators."""

from __future__ import annotations


class StoreError(Exception):
    """Base of all errors of the store."""


class DirectoryLockedError(StoreError):
    """Another process has this directory open."""


class NewerFormatError(StoreError):
    """A later version of vigie wrote this directory."""


class OlderFormatError(StoreError):
    """A version of vigie from before the first release wrote this directory."""


class InvalidInputError(StoreError):
    """A frame or sample that cannot be stored, and never will be."""


class InvalidMatcherError(StoreError):
    """A selector with an unknown operator or a bad regular expression."""


class CorruptionError(StoreError):
    """Bytes that are not what was written."""


class MissingDataError(CorruptionError):
    """Data that was deleted, or never existed."""


class WriteFailedError(StoreError):
    """The disk accepts no more; appended rows stay in memory and are written at the next sync."""
