"""Columns as kernels read them (performance:R-1)."""

from __future__ import annotations

import numpy as np
import pytest

from recommender.kernels.columns import readable
from tests.recommender.scene import integers


def test_a_column_is_read_where_it_stands_and_cannot_be_written() -> None:
    column = integers(1, 2, 3)
    read = readable(column)
    assert np.shares_memory(read, column)
    with pytest.raises(ValueError, match="read-only"):
        read[0] = 7
    column[0] = 5
    assert read.tolist() == [5, 2, 3]


def test_numbers_that_stand_apart_are_brought_together() -> None:
    read = readable(integers(1, 2, 3, 4)[::2])
    assert read.flags.c_contiguous
    assert read.tolist() == [1, 3]
