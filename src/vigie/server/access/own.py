"""What the server says on /metrics of those who want to come in."""

from __future__ import annotations

from vigie.model import Table, counter

WAYS = ("password", "token", "link")
METRICS = (
    SIGNED := counter("vigie_server_sign_ins_total", "Passwords that were checked and right."),
    FAILED := counter("vigie_server_sign_ins_failed_total", "What was shown to get in and was wrong.", "by"),
    THROTTLED := counter(
        "vigie_server_sign_ins_throttled_total",
        "Passwords that were not looked at, because too many had failed.",
    ),
)
TABLE = Table("access", 1, ((SIGNED, ()), *((FAILED, (way,)) for way in WAYS), (THROTTLED, ())))


class Counts:
    """How many came in, and how many did not."""

    def __init__(self) -> None:
        self.signed = self.throttled = 0
        self.failed = dict.fromkeys(WAYS, 0)

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        """Return the table as of now."""
        return TABLE, (self.signed, *self.failed.values(), self.throttled)
