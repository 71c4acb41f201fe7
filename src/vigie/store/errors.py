"""What can go wrong with a store, in words for the person who runs it."""

from __future__ import annotations


class StoreError(Exception):
    """Something about the store that its owner has to know."""


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
    """Something that is not there any more, or never was."""


class WriteFailedError(StoreError):
    """The disk took no more; what was appended is kept in memory and written at the next sync."""
