"""U-3: one round of resizes over an API server that answers slowly."""

from __future__ import annotations

from bench.rows.slow_calls import SlowCalls


class SlowResizes(SlowCalls):
    """Half of the pods of each controller, in place."""

    name = "U-3"
    title = "resizes for 1,000 controllers of 2 pods, 20 ms each"
    mode = "InPlaceOrRecreate"
    delay = "--delay-milliseconds=20", "--delayed=/resize$"
