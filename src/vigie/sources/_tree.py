"""A root such as /proc or /sys: small files, read often, kept open."""

from __future__ import annotations

import os
from typing import Callable, Dict, List, Optional

# Keeping a sysfs attribute open turns 14 us a read into 2 us.
CHUNK = 65536

Note = Callable[[str, OSError], None]


class Budget:
    """How many descriptors may still be kept open; files beyond it are opened each time."""

    def __init__(self, left: int) -> None:
        self.left = left


class Tree:
    """Reads files below one directory; paths are relative to it."""

    def __init__(self, top: str, budget: Optional[Budget] = None, note: Optional[Note] = None) -> None:
        self.top = top.rstrip("/") or "/"
        self._prefix = self.top.rstrip("/") + "/"
        self._budget = budget or Budget(0)
        self._note = note
        self._kept: Dict[str, int] = {}  # open since an earlier turn, not yet read in this one
        self._used: Dict[str, int] = {}  # read in this turn

    def read(self, path: str) -> str:
        """Return the whole file as text, or raise OSError."""
        return self._bytes(path).decode("utf-8", "surrogateescape")

    def text(self, path: str) -> Optional[str]:
        """Return the stripped text of an attribute, or None when it cannot be had."""
        try:
            return self.read(path).strip()
        except OSError as error:
            self.explain(path, error)
            return None

    def number(self, path: str, scale: float = 1) -> Optional[float]:
        """Return an attribute that holds one number, or None when it cannot be had."""
        text = self.text(path)
        return None if text is None else number(text, scale)

    def list(self, path: str = "") -> List[str]:
        """Return the sorted names in a directory, or raise OSError."""
        return sorted(os.listdir(self._prefix + path))

    def names(self, path: str = "") -> List[str]:
        """Return the sorted names in a directory; none when it is not there."""
        try:
            return self.list(path)
        except OSError as error:
            self.explain(path, error)
            return []

    def link(self, path: str) -> str:
        """Return where a symbolic link points, or raise OSError."""
        return os.readlink(self._prefix + path)

    def exists(self, path: str) -> bool:
        """Tell whether the path is there."""
        return os.path.exists(self._prefix + path)

    def explain(self, path: str, error: OSError) -> None:
        """Remember why something could not be read; that it is not there needs no reason."""
        if self._note and not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            self._note(self._prefix + path, error)

    def turn(self) -> None:
        """End one reading of the source: files that it no longer reads are closed."""
        self._drop(self._kept)
        self._kept, self._used = self._used, {}

    def close(self) -> None:
        """Let go of every file."""
        self._drop(self._kept)
        self._drop(self._used)

    def _drop(self, files: Dict[str, int]) -> None:
        while files:
            os.close(files.popitem()[1])
            self._budget.left += 1

    def _bytes(self, path: str) -> bytes:
        descriptor = self._kept.pop(path, None)
        if descriptor is None:
            descriptor = self._used.pop(path, None)  # a second time in this turn
            if descriptor is None:
                return self._opened(path)
        try:
            data = self._whole(descriptor)
        except OSError:  # the device behind it went; what has its name now is opened instead
            self._drop({path: descriptor})
            return self._opened(path)
        self._used[path] = descriptor
        return data

    def _opened(self, path: str) -> bytes:
        descriptor = os.open(self._prefix + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            data = self._whole(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        if self._budget.left > 0:
            self._budget.left -= 1
            self._used[path] = descriptor
        else:
            os.close(descriptor)
        return data

    def _whole(self, descriptor: int) -> bytes:
        # A seq_file hands out at most about a page a call, so only an empty read is the end.
        data = os.pread(descriptor, CHUNK, 0)
        more = data
        while more:
            more = os.pread(descriptor, CHUNK, len(data))
            data += more
        return data


class Attributes(Tree):
    """Sysfs, where the kernel gives an attribute whole in one read."""

    def _whole(self, descriptor: int) -> bytes:
        return os.pread(descriptor, CHUNK, 0)


def number(text: str, scale: float = 1) -> Optional[float]:
    """Return the number that the text spells, times scale, or None: 'N/A' is not a zero."""
    try:
        value: float = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            return None
    return value if scale == 1 else value * scale
