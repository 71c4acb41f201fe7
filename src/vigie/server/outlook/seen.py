"""What one caller may see: names of others are pseudonyms where privacy says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vigie.server.access.privacy import HOST, Mask
from vigie.server.bindings.book import Kept
from vigie.server.bindings.jobs import Job


class Seen:
    """Gives jobs, users and bindings the names under which a caller sees them."""

    def __init__(self, mask: Mask | None) -> None:
        self._mask = mask

    def job(self, job: Job) -> dict[str, Any]:
        """Return a job, ready for JSON."""
        return self._mask.job(job.json) if self._mask else job.json

    def job_id(self, job: Job) -> str:
        """Return the name under which the caller knows a job."""
        return str(self.job(job)["id"])

    def binding(self, kept: Kept) -> dict[str, Any]:
        """Return a binding, ready for JSON."""
        return self._mask.binding(kept.json) if self._mask else kept.json

    def user(self, name: str) -> str:
        """Return a user's name."""
        return self._mask.user(name) if self._mask else name

    @property
    def hides_hosts(self) -> bool:
        """Tell whether hosts have other names for the caller."""
        return self._mask is not None and self._mask.hosts

    def host(self, name: str) -> str:
        """Return a host's name."""
        return self._mask.word(HOST, name) if self._mask and self._mask.hosts else name

    def event(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return an event, ready for JSON."""
        return self._mask.event(row) if self._mask else row

    def meant_job(self, name: str, jobs: Iterable[Job]) -> Job | None:
        """Return the job that the caller means by a name as he sees it."""
        return next((job for job in jobs if self.job_id(job) == name), None)

    def meant_user(self, name: str, users: Iterable[str]) -> str | None:
        """Return the user that the caller means by a name as he sees it."""
        return next((user for user in users if self.user(user) == name), None)
