"""What kernels are given: columns that they only read, and columns that they change.

The types name what a kernel is compiled for, so that it is compiled once, before it is needed.

Spec: performance R-1.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

READ: Final = "only read"
"""Marks a column that a kernel must not change; such a column is passed through ``readable``."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int16]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""Indices of this type are never below zero, which a kernel need not look for."""

ReadIntegers = Annotated[Integers, READ]
ReadFloats = Annotated[Floats, READ]
ReadNumbers = Annotated[Numbers, READ]
ReadFlags = Annotated[Flags, READ]

_Scalar = TypeVar("_Scalar", bound=np.generic)


def readable(column: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a column as kernels read one: its numbers side by side, and not to be written.

    Args:
        column: [n] of any number; copied only where its numbers stand apart.
    """
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view
