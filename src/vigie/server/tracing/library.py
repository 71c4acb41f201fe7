"""The traces that were collected: a folder each, with the session, the files and what they say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec

from vigie.common.atomic_file import write_atomically
from vigie.wire.api.trace_reports import RankComparison, TraceSummary
from vigie.wire.api.trace_session import TraceSession

SESSION_FILE, RANKS_FILE = "session.json", "ranks.json"
_ID = re.compile(r"[a-z0-9-]{1,64}")
_LABEL = re.compile(r"[A-Za-z0-9._-]{1,300}")
_decode_session = msgspec.json.Decoder(TraceSession).decode
_decode_summary = msgspec.json.Decoder(TraceSummary).decode
_decode_comparison = msgspec.json.Decoder(RankComparison).decode


class TraceLibrary:
    """Keeps sessions by age and size, oldest removed first. Its calls touch the disk: not for the loop."""

    def __init__(self, directory: Path, *, max_bytes: int, max_age_ms: int) -> None:
        self._directory, self._max_bytes, self._max_age_ms = directory, max_bytes, max_age_ms
        self._sessions: dict[str, TraceSession] = {}

    def open(self) -> None:
        """Read what is there; a folder that cannot be read is left alone."""
        self._directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        for folder in self._directory.iterdir():
            session = self._read_session(folder)
            if session is not None:
                self._sessions[session.id] = session

    def sessions(self) -> list[TraceSession]:
        """Return all sessions, the newest first."""
        return sorted(self._sessions.values(), key=lambda session: -session.created_ms)

    def find(self, session_id: str) -> TraceSession | None:
        return self._sessions.get(session_id)

    def save(self, session: TraceSession) -> None:
        self._sessions[session.id] = session
        folder = self._folder(session.id)
        folder.mkdir(mode=0o750, exist_ok=True)
        write_atomically(folder / SESSION_FILE, msgspec.json.encode(session))

    def remove(self, session_id: str) -> bool:
        if self._sessions.pop(session_id, None) is None:
            return False
        shutil.rmtree(self._folder(session_id), ignore_errors=True)
        return True

    def trace_path(self, session_id: str, label: str) -> Path:
        """Return where the file of a rank is, or will be."""
        if not _LABEL.fullmatch(label) or label.startswith("."):
            raise ValueError(f"invalid rank {label!r}")
        return self._folder(session_id) / f"{label}.json.gz"

    def save_summary(self, session_id: str, label: str, summary: TraceSummary) -> None:
        path = self.trace_path(session_id, label).with_suffix("").with_suffix(".summary.json")
        write_atomically(path, msgspec.json.encode(summary))

    def read_summaries(self, session: TraceSession) -> dict[str, TraceSummary]:
        """Return what each collected file says, by the rank's label."""
        found = {}
        for rank in session.ranks:
            path = self.trace_path(session.id, rank.label).with_suffix("").with_suffix(".summary.json")
            try:
                found[rank.label] = _decode_summary(path.read_bytes())
            except (OSError, msgspec.DecodeError):
                continue
        return found

    def save_comparison(self, session_id: str, comparison: RankComparison) -> None:
        write_atomically(self._folder(session_id) / RANKS_FILE, msgspec.json.encode(comparison))

    def read_comparison(self, session_id: str) -> RankComparison | None:
        try:
            return _decode_comparison((self._folder(session_id) / RANKS_FILE).read_bytes())
        except (OSError, msgspec.DecodeError):
            return None

    def expire(self, now_ms: int) -> list[str]:
        """Remove what is too old, then the oldest until the rest fits; return what went."""
        removed = []
        ended = [s for s in reversed(self.sessions()) if s.state != "open"]
        size = sum(self._size(session.id) for session in ended)
        for session in ended:
            if now_ms - session.created_ms <= self._max_age_ms and size <= self._max_bytes:
                break
            size -= self._size(session.id)
            self.remove(session.id)
            removed.append(session.id)
        return removed

    def _folder(self, session_id: str) -> Path:
        if not _ID.fullmatch(session_id):
            raise ValueError(f"invalid trace {session_id!r}")
        return self._directory / session_id

    def _size(self, session_id: str) -> int:
        try:
            return sum(file.stat().st_size for file in self._folder(session_id).iterdir())
        except OSError:
            return 0

    @staticmethod
    def _read_session(folder: Path) -> TraceSession | None:
        try:
            session = _decode_session((folder / SESSION_FILE).read_bytes())
        except (OSError, msgspec.DecodeError):
            return None
        return session if session.id == folder.name else None
