"""Bucket ends and labels that the metrics of several processes share.

Spec: recommender:10, updater:7, admission:11.
"""

from __future__ import annotations

EXECUTION_BUCKETS_SECONDS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 120.0, 150.0, 240.0, 300.0),
)
REQUEST_BUCKETS_SECONDS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0),
)
LARGEST_SIZE_CLASS = 20


def size_class(pods: int) -> int:
    """Return the value of the label ``vpa_size_log2`` for a number of pods: floor of its logarithm, at most 20.

    Args:
        pods: Number of pods of one VPA; 0 counts as 1.
    """
    return min(max(pods, 1).bit_length() - 1, LARGEST_SIZE_CLASS)
