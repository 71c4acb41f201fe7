"""Opens the file that a trainer wrote, in the trainer's own view of the file system, and nothing else.

The path comes from outside, and the trainer's user may put anything there while we look. So each component is
opened below the one before it and no link is followed; the last must be a regular file of that user with no
other name, and below the limit.
"""

from __future__ import annotations

import errno
import os
import stat
from types import TracebackType
from typing import IO

MAX_DEPTH = 64
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class TraceFileError(Exception):
    """The file is not one that may be collected; the message says why."""


class TraceFileMissingError(TraceFileError):
    """There is no such file, or not yet."""


class TrainerRoot:
    """The root directory as one process sees it, kept even when the process ends."""

    def __init__(self, pid: int, proc: str = "/proc") -> None:
        try:
            self._fd = os.open(f"{proc}/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise TraceFileMissingError(f"process {pid} has ended") from None
        except OSError as error:
            raise TraceFileError(f"cannot enter the file system of process {pid}: {error.strerror}") from None

    def __enter__(self) -> TrainerRoot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def open_file(self, path: str, uid: int, max_bytes: int) -> IO[bytes]:
        """Return the file for reading, or raise TraceFileError."""
        *directories, name = _split_path(path)
        directory = self._open_directory(directories, path)
        try:
            return self._open_checked(directory, name, path, uid, max_bytes)
        finally:
            os.close(directory)

    def remove_file(self, path: str, uid: int) -> None:
        """Remove a file that `open_file` would open; a name is removed, whatever it leads to."""
        *directories, name = _split_path(path)
        directory = self._open_directory(directories, path)
        try:
            self._open_checked(directory, name, path, uid, 1 << 62).close()
            os.unlink(name, dir_fd=directory)
        except OSError as error:
            raise TraceFileError(f"{path}: {error.strerror}") from None
        finally:
            os.close(directory)

    def _open_directory(self, components: list[str], path: str) -> int:
        current = os.dup(self._fd)
        try:
            for component in components:
                following = self._open_at(current, component, _STEP, path)
                os.close(current)
                current = following
        except TraceFileError:
            os.close(current)
            raise
        return current

    def _open_checked(self, directory: int, name: str, path: str, uid: int, max_bytes: int) -> IO[bytes]:
        fd = self._open_at(directory, name, _OPEN, path)
        try:
            _check(os.fstat(fd), path, uid, max_bytes)
        except TraceFileError:
            os.close(fd)
            raise
        return os.fdopen(fd, "rb")

    @staticmethod
    def _open_at(directory: int, name: str, flags: int, path: str) -> int:
        try:
            return os.open(name, flags, dir_fd=directory)
        except FileNotFoundError:
            raise TraceFileMissingError(f"{path}: no such file") from None
        except OSError as error:
            reason = "is a link, or no directory" if error.errno in _LINK_ERRORS else error.strerror
            raise TraceFileError(f"{path}: {name!r} {reason}") from None


_LINK_ERRORS = (errno.ENOTDIR, errno.ELOOP)


def _split_path(path: str) -> list[str]:
    parts = path.split("/")
    if parts[0] or len(parts) < 2 or len(parts) > MAX_DEPTH or "\0" in path:
        raise TraceFileError(f"{path!r} is not an absolute path")
    components = [part for part in parts[1:] if part not in ("", ".")]
    if ".." in components or not components:
        raise TraceFileError(f"{path!r} leads outside its directory")
    return components


def _check(found: os.stat_result, path: str, uid: int, max_bytes: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise TraceFileError(f"{path}: not a regular file")
    if found.st_uid != uid:
        raise TraceFileError(f"{path}: belongs to uid {found.st_uid}, the trainer runs as uid {uid}")
    if found.st_nlink != 1:
        raise TraceFileError(f"{path}: has {found.st_nlink} names; a file with another name is not collected")
    if found.st_size > max_bytes:
        raise TraceFileError(
            f"{path}: {found.st_size >> 20} MiB, the limit is {max_bytes >> 20} MiB. Trace a shorter time"
        )
