"""Labels that several processes share."""

from __future__ import annotations

import pytest

from autoscaling.runtime.metric_shapes import size_class


@pytest.mark.parametrize(
    ("row", "pods", "expected"),
    [
        ("updater:7", 0, 0),
        ("updater:7", 1, 0),
        ("updater:7", 2, 1),
        ("updater:7", 3, 1),
        ("updater:7", 4, 2),
        ("updater:7", 2**20 - 1, 19),
        ("updater:7", 2**20, 20),
        ("updater:7", 2**21, 20),
    ],
)
def test_size_classes_are_powers_of_two(row: str, pods: int, expected: int) -> None:
    assert size_class(pods) == expected
