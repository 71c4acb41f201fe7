"""AMD's Python package amdsmi, opened once; whatever it raises is a reason why there is no answer."""

from __future__ import annotations

from typing import Any, Callable

from vigie.model.node import normalize_pci_bus_id
from vigie.sources.core.source import Unavailable

INSTALL = "for what sysfs does not tell: pip install amdsmi, of the version of the ROCm that is here"


class AmdsmiError(Exception):
    """A question that the package did not answer; the message says why."""

    def __init__(self, function: str, why: str) -> None:
        self.function = function
        super().__init__(why)


class AmdsmiSession:
    """The package between amdsmi_init and amdsmi_shut_down, with its handles by PCI address."""

    def __init__(self, load: Callable[[], Any]) -> None:
        try:
            self._package = load()
        # It loads a C++ library when it is imported, and may even end the process when that is not there.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            if isinstance(error, ModuleNotFoundError) and error.name == "amdsmi":
                raise Unavailable(f"the package amdsmi is not installed; {INSTALL}") from None
            raise Unavailable(f"the package amdsmi cannot be imported: {_words(error)}") from None
        self.before: dict[tuple[str, str], float] = {}  # what a count was at the last read
        self._answered = self._refused = 0
        try:
            self._package.amdsmi_init()
            self._handles = dict(self._found())
        except Exception as error:  # noqa: BLE001 - of many kinds, by version
            raise Unavailable(f"amdsmi cannot be used: {_words(error)}") from None

    def _found(self) -> list[tuple[str, Any]]:
        address = self._package.amdsmi_get_gpu_device_bdf
        return [
            (normalize_pci_bus_id(address(handle)), handle)
            for handle in self._package.amdsmi_get_processor_handles()
        ]

    def ask(self, function: str, address: str) -> Any:
        """Return what a function of the package answers about the GPU at an address, or raise Refused."""
        if address not in self._handles:
            raise AmdsmiError(function, "amdsmi does not list this GPU")
        try:
            answer = getattr(self._package, function)(self._handles[address])
        except Exception as error:  # noqa: BLE001 - of many kinds, by version; a function may be missing too
            self._refused += 1
            raise AmdsmiError(function, _words(error)) from None
        self._answered += 1
        return answer

    def dead(self) -> bool:
        """Tell whether nothing was answered since the last call: the driver may have been loaded anew."""
        dead = self._refused > 0 and not self._answered
        self._answered = self._refused = 0
        return dead

    def close(self) -> None:
        """Let go of the GPUs."""
        try:
            self._package.amdsmi_shut_down()
        except Exception:  # noqa: BLE001, S110 - nothing is left to be let go of
            pass


def _words(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
