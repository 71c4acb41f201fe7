"""A root such as /proc or /sys: small files that are read often and kept open."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Callable

# Keeping a sysfs attribute open reduces a read from 14 us to 2 us. The kernel allocates a buffer of the
# requested size, so most reads request one page; for /proc/sys that saves 3 us per read.
PAGE = 4096
CHUNK = 65536

# Files of a renamed device stay open under the old name, so all files are reopened after this many reads.
REOPEN_AFTER_READS = 100

# The device behind an open file is gone; another may have its name now.
GONE = (errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.ESRCH)

# The kernel reports no wider number; anything beyond is garbage.
LIMIT = 1 << 64

Note = Callable[[str, object], None]
ReadFile = Callable[[int], bytes]


def read_page(descriptor: int) -> bytes:
    """Return what the kernel returns in one read."""
    return os.pread(descriptor, PAGE, 0)


def read_whole(descriptor: int) -> bytes:
    """Return the whole file. A seq_file returns about a page per call: only an empty read is its end."""
    data = more = os.pread(descriptor, PAGE, 0)
    while more:
        more = os.pread(descriptor, CHUNK if len(data) > PAGE // 2 else PAGE, len(data))
        data += more
    return data


def read_short(descriptor: int) -> bytes:
    """Return a whole file of short lines: a read of less than half a page is the last one."""
    data = read_page(descriptor)
    return data if len(data) < PAGE // 2 else read_whole(descriptor)


def read_first(descriptor: int, size: int) -> bytes:
    """Return a file's first bytes: a file that somebody else fills may be of any size."""
    data = more = os.pread(descriptor, min(size, PAGE), 0)
    while more and len(data) < size:
        more = os.pread(descriptor, min(size - len(data), CHUNK), len(data))
        data += more
    return data


class FileBudget:
    """How many more descriptors may be kept open. Beyond it, files are opened for each read."""

    def __init__(self, left: int) -> None:
        self.left = left


class Tree:
    """Reads files below one directory; paths are relative to it."""

    def __init__(
        self,
        top: str,
        budget: FileBudget | None = None,
        note: Note | None = None,
        read_file: ReadFile = read_whole,
    ) -> None:
        self.top = top.rstrip("/") or "/"
        self._prefix = self.top.rstrip("/") + "/"
        self._budget = budget or FileBudget(0)
        self._note = note
        self._read_file = read_file
        self.files: dict[str, int] = {}  # kept open
        self._open_reads = 0  # of files kept open, since the last end_read()
        self._read_count = 0

    def read(self, path: str) -> str:
        """Return the whole file as text, or raise OSError."""
        return self._read(path, self._read_file).decode("utf-8", "surrogateescape")

    def read_short(self, path: str) -> str:
        """Return a file of short lines as text, or raise OSError; half the cost for socket tables."""
        return self._read(path, read_short).decode("utf-8", "surrogateescape")

    def read_once(self, path: str) -> str:
        """Return the whole file as text without keeping it open, or raise OSError."""
        return self._open_and_read(path, self._read_file, keep=False).decode("utf-8", "surrogateescape")

    def read_head(self, path: str, size: int) -> str:
        """Return at most so many bytes of a file as text, without keeping it open, or raise OSError."""
        data = self._open_and_read(path, lambda descriptor: read_first(descriptor, size), keep=False)
        return data.decode("utf-8", "surrogateescape")

    def read_text(self, path: str) -> str | None:
        """Return the stripped text of a file, or None when it cannot be read."""
        try:
            return self.read(path).strip()
        except OSError as error:
            self.note_error(path, error)
            return None

    def read_bytes(self, path: str) -> bytes:
        """Return the first page of a binary file, or nothing when it cannot be read."""
        try:
            return self._read(path, read_page)
        except OSError as error:
            self.note_error(path, error)
            return b""

    def read_texts(self, directory: str, names: Iterable[str]) -> tuple[dict[str, str], dict[str, OSError]]:
        """Return the stripped text of each file, and the errors of those that cannot be read."""
        texts: dict[str, str] = {}
        errors: dict[str, OSError] = {}
        read = self.read
        for name in names:
            try:
                texts[name] = read(directory + name).strip()
            except OSError as error:  # noqa: PERF203 - one file's error must not stop the others
                errors[name] = error
        return texts, errors

    def read_number(self, path: str, scale: float = 1) -> float | None:
        """Return the number in a file, or None when it cannot be read."""
        try:
            text = self._read(path, read_page).decode("utf-8", "surrogateescape").strip()
        except OSError as error:
            self.note_error(path, error)
            return None
        value = parse_number(text, scale)
        if value is None and self._note:
            self._note(self._prefix + path, f"not a number: {text[:20]!r}")
        return value

    def list_directory(self, path: str = "") -> list[str]:
        """Return the sorted names in a directory, or raise OSError."""
        return sorted(os.listdir(self._prefix + path))

    def list_names(self, path: str = "") -> list[str]:
        """Return the sorted names in a directory, or none when it cannot be read."""
        try:
            return self.list_directory(path)
        except OSError as error:
            self.note_error(path, error)
            return []

    def list_folders(self, path: str = "") -> list[str]:
        """Return the sorted names of the directories in a directory, or none when it cannot be read."""
        try:
            with os.scandir(self._prefix + path) as found:
                return sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
        except OSError as error:
            self.note_error(path, error)
            return []

    def modified_time(self, path: str) -> float:
        """Return when a file was last written, as a Unix time, or raise OSError."""
        return os.stat(self._prefix + path).st_mtime

    def read_link(self, path: str) -> str:
        """Return the target of a symbolic link, or raise OSError."""
        return os.readlink(self._prefix + path)

    def exists(self, path: str) -> bool:
        return os.path.exists(self._prefix + path)

    def note_error(self, path: str, error: OSError) -> None:
        """Record why a path could not be read, unless it does not exist."""
        if self._note and not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            self._note(self._prefix + path, error)

    def end_read(self) -> None:
        """Finish one read of the source. If it skipped an open file, all are closed."""
        self._read_count += 1
        if self._open_reads < len(self.files) or self._read_count % REOPEN_AFTER_READS == 0:
            self.close()
        self._open_reads = 0

    def close(self) -> None:
        while self.files:
            self._close(self.files.popitem()[1])

    def _close(self, descriptor: int) -> None:
        os.close(descriptor)
        self._budget.left += 1

    def _read(self, path: str, read_file: ReadFile) -> bytes:
        descriptor = self.files.get(path)
        if descriptor is None:
            return self._open_and_read(path, read_file)
        self._open_reads += 1
        try:
            return read_file(descriptor)
        except OSError as error:
            if error.errno not in GONE:
                raise
            self._close(self.files.pop(path))
            return self._open_and_read(path, read_file)

    def _open_and_read(self, path: str, read_file: ReadFile, *, keep: bool = True) -> bytes:
        if "\0" in path:  # os.open would raise ValueError
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        descriptor = os.open(self._prefix + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return read_file(descriptor)
        finally:
            if keep and self._budget.left > 0:
                self._budget.left -= 1
                self.files[path] = descriptor
                self._open_reads += 1
            else:
                os.close(descriptor)


def parse_number(text: str, scale: float = 1) -> float | None:
    """Return the number in the text times scale, or None: 'N/A' is not 0."""
    try:
        value: float = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            return None
    if not -LIMIT < value < LIMIT:  # also excludes NaN
        return None
    return value if scale == 1 else value * scale


def to_printable(text: str) -> str:
    """Replace what is not UTF-8, for labels and reports."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
