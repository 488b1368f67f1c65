"""What may differ where a recommendation is capped, and what may not."""

from __future__ import annotations

import pytest

from e2e.parity.admission.cappings import wanted_of_limits
from e2e.parity.amounts import BEYOND_64_BITS
from e2e.parity.kinds import Case


def asking(limit: str, upper: str, container: str = "c") -> Case:
    """Return a pod that requests two bytes, with a limit, and a VPA with an upper bound for a container."""
    resources = {"requests": {"memory": "2"}, "limits": {"memory": limit}}
    pod = {"metadata": {"namespace": "n", "name": "p"}, "spec": {"containers": [{"name": "c", "resources": resources}]}}
    entry = {"containerName": container, "target": {"memory": "1"}, "upperBound": {"memory": upper}}
    status = {"recommendation": {"containerRecommendations": [entry]}}
    vpa = {"metadata": {"namespace": "n", "name": "v"}, "spec": {}, "status": status}
    return {"vpas": [vpa], "limitRanges": [], "pod": pod}


@pytest.mark.parametrize(
    ("row", "case", "answer", "reason"),
    [
        ("limits:S1 small", asking("4", "1Gi"), {}, ""),
        ("limits:S1 just below", asking("8589934592", "2147483647"), {}, ""),
        ("limits:S1 cut", asking("8589934592", "2147483649"), {}, BEYOND_64_BITS),
        ("limits:S1 of another container", asking("8589934592", "2147483649", "d"), {}, ""),
        ("limits:S1 in the answer", asking("4", "1Gi"), {"limits": {"memory": "2Ei"}}, BEYOND_64_BITS),
    ],
)
def test_sums_beyond_64_bits_may_differ(row: str, case: Case, answer: Case, reason: str) -> None:
    assert wanted_of_limits(case, answer, {}) == reason, row
    assert wanted_of_limits(case, {}, answer) == reason, row


def test_a_vpa_without_a_recommendation_has_no_limits() -> None:
    case = asking("8589934592", "2147483649")
    assert wanted_of_limits({**case, "vpas": [{"metadata": {"name": "v"}, "spec": {}}]}, {}, {}) == ""
