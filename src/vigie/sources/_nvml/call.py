"""A driver call that may return long after its deadline."""

from __future__ import annotations

from typing import Any, Callable


class DriverCall:
    """Runs once, on the calling thread, and keeps the result or the error."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._call = ask
        self.done = False
        self.result: Any = None
        self.error: Exception | None = None

    def __call__(self) -> None:
        """Call the driver, and keep the result."""
        try:
            self.result = self._call()
        except Exception as error:  # noqa: BLE001 - raised again, or noted, by whoever asked
            self.error = error
        finally:
            self.done = True
