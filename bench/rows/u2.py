"""U-2: one round of evictions over an API server that answers slowly."""

from __future__ import annotations

from types import MappingProxyType

from bench.figures import Bound, Target
from bench.rows.slow_calls import SlowCalls


class SlowEvictions(SlowCalls):
    """Half of the pods of each controller, by eviction."""

    name = "U-2"
    title = "evictions for 1,000 controllers of 2 pods, 100 ms each"
    mode = "Recreate"
    delay = "--delay-milliseconds=100", "--delayed=/eviction$"
    targets = MappingProxyType({"U-2": Target(Bound.RATIO_AT_LEAST, 4)})
