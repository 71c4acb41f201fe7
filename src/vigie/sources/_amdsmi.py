"""AMD's Python package amdsmi, initialized once. Its exceptions become reasons."""

from __future__ import annotations

from typing import Any, Callable

from vigie.model.node import normalize_pci_bus_id
from vigie.sources.core.source import Unavailable

INSTALL = "for metrics that sysfs lacks: pip install amdsmi, matching the installed ROCm version"


class AmdsmiError(Exception):
    """A call that failed; the message says why."""

    def __init__(self, function: str, why: str) -> None:
        self.function = function
        super().__init__(why)


class AmdsmiSession:
    """The initialized package, with handles by PCI address."""

    def __init__(self, load: Callable[[], Any]) -> None:
        try:
            self._package = load()
        # Importing it loads a C++ library, and may even end the process if that is missing.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            if isinstance(error, ModuleNotFoundError) and error.name == "amdsmi":
                raise Unavailable(f"package amdsmi is not installed; {INSTALL}") from None
            raise Unavailable(f"cannot import package amdsmi: {_format_error(error)}") from None
        self.before: dict[tuple[str, str], float] = {}  # counters at the previous read
        self._succeeded = self._refused = 0
        try:
            self._package.amdsmi_init()
            self._handles = dict(self._find_handles())
        except Exception as error:  # noqa: BLE001 - of many kinds, by version
            raise Unavailable(f"cannot initialize amdsmi: {_format_error(error)}") from None

    def _find_handles(self) -> list[tuple[str, Any]]:
        address = self._package.amdsmi_get_gpu_device_bdf
        return [
            (normalize_pci_bus_id(address(handle)), handle)
            for handle in self._package.amdsmi_get_processor_handles()
        ]

    def call(self, function: str, address: str) -> Any:
        """Call a function for the GPU at an address, or raise AmdsmiError."""
        if address not in self._handles:
            raise AmdsmiError(function, "amdsmi does not list this GPU")
        try:
            answer = getattr(self._package, function)(self._handles[address])
        except Exception as error:  # noqa: BLE001 - of many kinds, by version; a function may be missing too
            self._refused += 1
            raise AmdsmiError(function, _format_error(error)) from None
        self._succeeded += 1
        return answer

    def is_dead(self) -> bool:
        """Return whether no call succeeded since the last check: the driver may have been reloaded."""
        dead = self._refused > 0 and not self._succeeded
        self._succeeded = self._refused = 0
        return dead

    def close(self) -> None:
        """Shut the library down."""
        try:
            self._package.amdsmi_shut_down()
        except Exception:  # noqa: BLE001, S110 - nothing is left to be let go of
            pass


def _format_error(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
