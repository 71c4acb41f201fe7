"""Something asked of the driver, which may answer long after we stopped waiting for it."""

from __future__ import annotations

from typing import Any, Callable


class DriverCall:
    """Asks once, on whatever thread calls it, and keeps the answer or why there is none."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask
        self.answered = False
        self.answer: Any = None
        self.error: Exception | None = None

    def __call__(self) -> None:
        """Ask, and keep what comes of it."""
        try:
            self.answer = self._ask()
        except Exception as error:  # noqa: BLE001 - raised again, or noted, by whoever asked
            self.error = error
        finally:
            self.answered = True
