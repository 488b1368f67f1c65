"""Short ways to write series of history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recommender.history.series import Series
from recommender.instants import instant
from tests.builders import T0

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 3600 * SECOND
DAY = 24 * HOUR
T0_NS = instant(T0)
CPU = "container_cpu_usage_seconds_total"
MEMORY = "container_memory_working_set_bytes"


def of(namespace: str = "default", pod: str = "web-0", container: str = "main", **more: str) -> dict[str, str]:
    """Return the labels of a container's series."""
    return {"namespace": namespace, "pod_name": pod, "name": container, **more}


def series(labels: Mapping[str, str], values: Sequence[float], *, first: int = 0, step: int = HOUR) -> Series:
    """Return a series with a point at every step from T0 on."""
    instants = T0_NS + (np.arange(len(values), dtype=np.int64) + first) * step
    return Series(labels, instants, np.array(values, dtype=np.float64))
