"""U-3: one round of resizes over an API server that answers slowly."""

from __future__ import annotations

from types import MappingProxyType

from bench.figures import Bound, Target
from bench.rows.slow_calls import USUAL, SlowCalls

_WIDE = "/wide"


class SlowResizes(SlowCalls):
    """Half of the pods of each controller, in place.

    At the usual limits a thousand requests take eight seconds in any case, so the same is measured with limits that
    hold nobody back.
    """

    name = "U-3"
    title = "resizes for 1,000 controllers of 2 pods, 20 ms each"
    mode = "InPlaceOrRecreate"
    delay = "--delay-milliseconds=20", "--delayed=/resize$"
    limits = MappingProxyType({"": USUAL, _WIDE: ("--kube-api-qps=2000", "--kube-api-burst=4000")})
    targets = MappingProxyType(dict.fromkeys(("U-3", f"U-3{_WIDE}"), Target(Bound.RATIO_AT_LEAST, 4)))
