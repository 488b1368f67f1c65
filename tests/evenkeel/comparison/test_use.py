"""What pods were seen to use, as one amount."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.resources import CPU, MEMORY
from evenkeel.comparison.use import ObservedUse, UseSample, used

KEY = ("shop", "web", "main")


def observed(resource: str, **pods: list[int]) -> ObservedUse:
    """Return the use of pods of one autoscaler, a sample a second."""
    use = ObservedUse({("shop", pod): (("shop", "web"),) for pod in pods})
    for pod, amounts in pods.items():
        for second, amount in enumerate(amounts):
            use.note(("shop", pod), "main", resource, UseSample(second * 10**9, amount))
    return use


@pytest.mark.parametrize(
    ("spec_id", "resource", "pods", "share", "expected"),
    [
        ("beyond:B-35", CPU, {"a": [1]}, 0.9, "1m"),
        ("beyond:B-35", CPU, {"a": [*range(1, 11)]}, 0.9, "9m"),
        ("beyond:B-35", CPU, {"a": [*range(1, 11)]}, 0.91, "10m"),
        ("beyond:B-35", CPU, {"a": [*range(1, 11)]}, 1.0, "10m"),
        ("beyond:B-35", CPU, {"a": [*range(1, 11)]}, 0.01, "1m"),
        ("beyond:B-35", CPU, {"a": [5, 5, 5], "b": [9]}, 0.75, "5m"),
        ("beyond:B-35 peaks", MEMORY, {"a": [2048, 1024, 1024], "b": [1024]}, 0.5, "1Ki"),
        ("beyond:B-35 peaks", MEMORY, {"a": [2048, 1024, 1024], "b": [1024]}, 0.9, "2Ki"),
    ],
)
def test_cpu_counts_by_sample_and_memory_by_the_peaks_of_pods(
    spec_id: str, resource: str, pods: dict[str, list[int]], share: float, expected: str
) -> None:
    assert str(used(observed(resource, **pods), KEY, resource, share)) == expected, spec_id


def test_what_was_not_seen_is_not_known() -> None:
    use = observed(CPU, a=[1])
    assert used(use, KEY, MEMORY, 0.9) is None, "beyond:B-35"
    assert used(use, ("shop", "web", "other"), CPU, 0.9) is None


def test_a_sample_that_comes_twice_or_of_nobodys_pod_counts_for_nothing() -> None:
    use = observed(CPU, a=[1, 2])
    use.note(("shop", "a"), "main", CPU, UseSample(0, 100))
    use.note(("shop", "stranger"), "main", CPU, UseSample(5, 100))
    assert use.by_pod(KEY, CPU) == {"a": (UseSample(0, 1), UseSample(10**9, 2))}, "beyond:B-35"


def test_a_pod_counts_for_every_autoscaler_that_has_it() -> None:
    use = ObservedUse({("shop", "a"): (("shop", "web"), ("shop", "also"))})
    use.note(("shop", "a"), "main", CPU, UseSample(0, 7))
    assert {str(used(use, ("shop", name, "main"), CPU, 0.9)) for name in ("web", "also")} == {"7m"}, "beyond:B-35"


def test_what_is_drawn_is_the_most_that_any_pod_used_at_a_time() -> None:
    use = observed(CPU, a=[1, 8], b=[3, 2, 4])
    amounts = [sample.amount for sample in use.peaks_over_time(KEY, CPU)]
    assert amounts == [3, 8, 4], "beyond:B-35"


@given(st.lists(st.integers(0, 10**6), min_size=1), st.floats(min_value=0.01, max_value=1.0))
def test_a_percentile_is_one_of_the_samples_and_enough_are_no_more(amounts: list[int], share: float) -> None:
    """Spec: beyond:B-35."""
    found = used(observed(CPU, a=amounts), KEY, CPU, share)
    assert found is not None
    at_most = sum(amount <= found.milli_value() for amount in amounts)
    below = sum(amount < found.milli_value() for amount in amounts)
    assert found.milli_value() in amounts
    assert below < share * len(amounts) <= at_most
