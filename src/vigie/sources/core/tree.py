"""A root such as /proc or /sys: small files, read often, kept open."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Callable

# Keeping a sysfs attribute open turns 14 us a read into 2 us. The kernel gets itself a buffer of the
# size asked for, so most files are asked for a page; that is 3 us a read for those of /proc/sys.
PAGE = 4096
CHUNK = 65536

# A device that was renamed keeps its open files, which then stand under the wrong name: look again.
OPEN_TURNS = 100

# The device behind an open file went away; what has its name now is another.
GONE = (errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.ESRCH)

# No number of the kernel's is wider; anything beyond it is garbage.
LIMIT = 1 << 64

Note = Callable[[str, object], None]
Take = Callable[[int], bytes]


def page(descriptor: int) -> bytes:
    """Return what the kernel gives in one read."""
    return os.pread(descriptor, PAGE, 0)


def whole(descriptor: int) -> bytes:
    """Return the whole file: a seq_file gives about a page a call, so only an empty read is its end."""
    data = more = os.pread(descriptor, PAGE, 0)
    while more:
        more = os.pread(descriptor, CHUNK if len(data) > PAGE // 2 else PAGE, len(data))
        data += more
    return data


def short(descriptor: int) -> bytes:
    """Return a whole file of short lines; half a page is its end, which is not asked for again."""
    data = page(descriptor)
    return data if len(data) < PAGE // 2 else whole(descriptor)


class FileBudget:
    """How many descriptors may still be kept open; files beyond it are opened each time."""

    def __init__(self, left: int) -> None:
        self.left = left


class Tree:
    """Reads files below one directory; paths are relative to it."""

    def __init__(
        self, top: str, budget: FileBudget | None = None, note: Note | None = None, take: Take = whole
    ) -> None:
        self.top = top.rstrip("/") or "/"
        self._prefix = self.top.rstrip("/") + "/"
        self._budget = budget or FileBudget(0)
        self._note = note
        self._take = take
        self.files: dict[str, int] = {}  # kept open
        self._reads = 0  # of open files in this turn
        self._turns = 0

    def read(self, path: str) -> str:
        """Return the whole file as text, or raise OSError."""
        return self._bytes(path, self._take).decode("utf-8", "surrogateescape")

    def short(self, path: str) -> str:
        """Return a file of short lines as text, or raise OSError; half the cost for sockets' tables."""
        return self._bytes(path, short).decode("utf-8", "surrogateescape")

    def once(self, path: str) -> str:
        """Return the whole file as text without keeping it open, or raise OSError."""
        return self._opened(path, self._take, keep=False).decode("utf-8", "surrogateescape")

    def text(self, path: str) -> str | None:
        """Return the stripped text of a file, or None when it cannot be had."""
        try:
            return self.read(path).strip()
        except OSError as error:
            self.explain(path, error)
            return None

    def binary(self, path: str) -> bytes:
        """Return a file that is no text; nothing when it cannot be had."""
        try:
            return self._bytes(path, page)
        except OSError as error:
            self.explain(path, error)
            return b""

    def texts(self, directory: str, names: Iterable[str]) -> tuple[dict[str, str], dict[str, OSError]]:
        """Return the stripped texts of some files of a directory, and the errors of the others."""
        texts: dict[str, str] = {}
        errors: dict[str, OSError] = {}
        read = self.read
        for name in names:
            try:
                texts[name] = read(directory + name).strip()
            except OSError as error:  # noqa: PERF203 - each file fails for itself
                errors[name] = error
        return texts, errors

    def number(self, path: str, scale: float = 1) -> float | None:
        """Return the one number that a file holds, or None when it cannot be had."""
        try:
            text = self._bytes(path, page).decode("utf-8", "surrogateescape").strip()
        except OSError as error:
            self.explain(path, error)
            return None
        value = number(text, scale)
        if value is None and self._note:
            self._note(self._prefix + path, f"not a number: {text[:20]!r}")
        return value

    def entries(self, path: str = "") -> list[str]:
        """Return the sorted names in a directory, or raise OSError."""
        return sorted(os.listdir(self._prefix + path))

    def names(self, path: str = "") -> list[str]:
        """Return the sorted names in a directory; none when it is not there."""
        try:
            return self.entries(path)
        except OSError as error:
            self.explain(path, error)
            return []

    def link(self, path: str) -> str:
        """Return where a symbolic link points, or raise OSError."""
        return os.readlink(self._prefix + path)

    def exists(self, path: str) -> bool:
        return os.path.exists(self._prefix + path)

    def explain(self, path: str, error: OSError) -> None:
        """Remember why something could not be read; that it is not there needs no reason."""
        if self._note and not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            self._note(self._prefix + path, error)

    def turn(self) -> None:
        """End one reading of the source: when it has left files unread, they are all let go."""
        self._turns += 1
        if self._reads < len(self.files) or self._turns % OPEN_TURNS == 0:
            self.close()
        self._reads = 0

    def close(self) -> None:
        """Let go of every file."""
        while self.files:
            self._close(self.files.popitem()[1])

    def _close(self, descriptor: int) -> None:
        os.close(descriptor)
        self._budget.left += 1

    def _bytes(self, path: str, take: Take) -> bytes:
        descriptor = self.files.get(path)
        if descriptor is None:
            return self._opened(path, take)
        self._reads += 1
        try:
            return take(descriptor)
        except OSError as error:
            if error.errno not in GONE:
                raise
            self._close(self.files.pop(path))
            return self._opened(path, take)

    def _opened(self, path: str, take: Take, *, keep: bool = True) -> bytes:
        if "\0" in path:  # a garbled name; os.open would raise ValueError
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        descriptor = os.open(self._prefix + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return take(descriptor)
        finally:
            if keep and self._budget.left > 0:
                self._budget.left -= 1
                self.files[path] = descriptor
                self._reads += 1
            else:
                os.close(descriptor)


def number(text: str, scale: float = 1) -> float | None:
    """Return the number that the text spells, times scale, or None: 'N/A' is not a zero."""
    try:
        value: float = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            return None
    if not -LIMIT < value < LIMIT:  # nothing that a kernel counts, and NaN neither
        return None
    return value if scale == 1 else value * scale


def printable(text: str) -> str:
    """Return what was read with anything that is not UTF-8 replaced, fit for a label or a report."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
