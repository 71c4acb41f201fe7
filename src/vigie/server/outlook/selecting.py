"""Selectors for some nodes or GPUs, as PromQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable


def nodes_matcher(nodes: Iterable[str]) -> str:
    r"""Return the matcher that fits these nodes only.

    >>> print(nodes_matcher(["gpu01", "a.b"]))
    instance=~"gpu01|a\\.b"
    """
    return f"instance=~{json.dumps('|'.join(re.escape(name) for name in nodes), ensure_ascii=False)}"


def gpu_matcher(node: str, gpu: str) -> str:
    """Return the matchers that fit one GPU only."""
    return f"{label_matcher('instance', node)},{label_matcher('gpu', gpu)}"


def label_matcher(name: str, value: str) -> str:
    r"""Return the matcher that fits one value of a label.

    >>> label_matcher("user", 'a"b')
    'user="a\\"b"'
    """
    return f"{name}={json.dumps(value, ensure_ascii=False)}"
