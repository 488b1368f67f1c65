"""Whether a pod has what its spec asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.pod import ContainerStatus, Pod, PodPhase
from autoscaling.resources import ContainerResources
from tests.builders import amounts, container, pod
from updater.convergence import is_converged, is_over


def shown(
    wanted: tuple[str, str],
    actual: tuple[str, str],
    allocated: str | None = None,
    *,
    is_running: bool = True,
) -> Pod:
    """Return a pod whose container has these requests and limits in its spec and in its status."""
    resources = ContainerResources(amounts(actual[0]) or None, amounts(actual[1]) or None)
    status = ContainerStatus(
        "c",
        resources=resources,
        allocated=None if allocated is None else amounts(allocated),
        is_running=is_running,
    )
    return replace(pod(container("c", *wanted)), statuses=(status,))


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("beyond:B-45", shown(("100m/200Mi", "1/1Gi"), ("100m/200Mi", "1/1Gi")), True),
        ("beyond:B-45", shown(("100m/200Mi", "1/1Gi"), ("101m/200Mi", "1/1Gi")), False),
        ("beyond:B-45", shown(("100m/200Mi", "1/1Gi"), ("100m/201Mi", "1/1Gi")), False),
        ("beyond:B-45", shown(("100m/200Mi", "1/1Gi"), ("100m/200Mi", "1/2Gi")), False),
        # Allocated and in force are two things: an error leaves them apart.
        ("beyond:B-45", shown(("100m/200Mi", "-"), ("100m/200Mi", "-"), "100m/200Mi"), True),
        ("beyond:B-45", shown(("100m/200Mi", "-"), ("100m/200Mi", "-"), "100m/100Mi"), False),
        ("beyond:B-45", shown(("100m/200Mi", "-"), ("-", "-")), False),
        ("beyond:B-45", shown(("-", "-"), ("100m/-", "-")), False),
        ("beyond:B-45", shown(("-", "-"), ("-", "-")), True),
        ("beyond:B-45", shown(("100m/-", "1/-"), ("100m/-", "-")), False),
        # The runtime's own rounding.
        ("beyond:B-45", shown(("1m/-", "-"), ("2m/-", "-")), True),
        ("beyond:B-45", shown(("1m/-", "-"), ("3m/-", "-")), False),
        ("beyond:B-45", shown(("100m/-", "999m/-"), ("100m/-", "1/-")), True),
        ("beyond:B-45", shown(("100m/-", "990m/-"), ("100m/-", "1/-")), False),
        ("beyond:B-45", shown(("-/1Mi", "-/1048577"), ("-/1Mi", "-/1Mi")), True),
        ("beyond:B-45", shown(("-/1Mi", "-/1114111"), ("-/1Mi", "-/1Mi")), True),
        ("beyond:B-45", shown(("-/1Mi", "-/1114112"), ("-/1Mi", "-/1Mi")), False),
        # What does not run cannot be compared, nor what is not reported.
        ("beyond:B-45", shown(("100m/-", "-"), ("50m/-", "-"), is_running=False), True),
        ("beyond:B-45", pod(container("c", "100m/-")), True),
        ("beyond:B-45", replace(pod(container("c", "1/-")), statuses=(ContainerStatus("c", is_running=True),)), True),
        # The node has not seen the spec yet; one that never says so cannot be asked.
        ("beyond:B-45", replace(shown(("1/-", "-"), ("1/-", "-")), generation=2, observed_generation=1), False),
        ("beyond:B-45", replace(shown(("1/-", "-"), ("1/-", "-")), generation=2, observed_generation=2), True),
        ("beyond:B-45", replace(shown(("1/-", "-"), ("1/-", "-")), generation=2, observed_generation=0), True),
    ],
)
def test_amounts_are_compared(row: str, subject: Pod, *, expected: bool) -> None:
    assert is_converged(subject) is expected


@pytest.mark.parametrize(
    ("row", "subject", "expected"),
    [
        ("beyond:B-45", pod(), False),
        ("beyond:B-45", replace(pod(), is_terminating=True), True),
        ("beyond:B-45", replace(pod(), phase=PodPhase.SUCCEEDED), True),
        ("beyond:B-45", replace(pod(), phase=PodPhase.FAILED), True),
        ("beyond:B-45", replace(pod(), phase=PodPhase.PENDING), False),
    ],
)
def test_a_pod_that_goes_or_has_ended_is_dropped(row: str, subject: Pod, *, expected: bool) -> None:
    assert is_over(subject) is expected
