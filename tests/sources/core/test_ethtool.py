from __future__ import annotations

import os

import pytest

from vigie.sources.core.ethtool import ethtool


def test_an_interface_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="such device"):
        ethtool("absent0")


def test_a_name_too_long_for_the_kernel_is_refused() -> None:
    with pytest.raises(OSError, match="such device"):
        ethtool("a" * 40)


def test_drivers_here_tell_who_they_are() -> None:
    told = []
    for device in os.listdir("/sys/class/net"):
        try:
            told.append(ethtool(device))
        except OSError:
            continue  # the loopback has no driver
    assert all(answer.driver for answer in told)
