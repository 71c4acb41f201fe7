"""Types of the arrays that queries compute with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Times = NDArray[np.int64]
Indices = NDArray[np.intp]
