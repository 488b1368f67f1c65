"""What two autoscalers of one resource must come to, by the rules of both: no number here was seen in a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recommender.buckets import CPU_BUCKETS

_MILLI, _WHOLE = 1000, 100


@dataclass(frozen=True)
class Spiral:
    """A load that pods share, a horizontal autoscaler, and a VPA in upstream's profile.

    Args:
        load_milli: CPU of all pods together.
        share: Percent of the requests that the horizontal autoscaler aims at.
        margin: What the recommender adds to use.
        threshold: By which share of the request a recommendation must differ before it is carried out.
        tolerance: By which share usage may miss its aim.
    """

    load_milli: int
    share: int
    margin: float = 0.15
    threshold: float = 0.1
    tolerance: float = 0.1

    def target_milli(self, pods: int) -> int:
        """What is recommended once all history that counts is of so many pods: a bucket's end, and the margin."""
        cores = np.array([self.load_milli / pods / _MILLI])
        end = int(CPU_BUCKETS.ends[CPU_BUCKETS.bucket_of_values(cores)[0]] * _MILLI)
        return end + int(end * self.margin)

    def largest_request_milli(self, pods: int) -> int:
        """The largest request that is not worth being brought down to the target."""
        return math.floor(self.target_milli(pods) / (1 - self.threshold))

    def calls_for(self, pods: int, request_milli: int) -> int:
        """How many pods the horizontal autoscaler wants where so many request so much each."""
        ratio = (self.load_milli * _WHOLE // (pods * request_milli)) / self.share
        return pods if 1 - self.tolerance <= ratio <= 1 + self.tolerance else math.ceil(pods * ratio)
