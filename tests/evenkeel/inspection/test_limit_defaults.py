"""What the API server fills in before the webhook sees a pod."""

from __future__ import annotations

from dataclasses import replace

import pytest

from admission.review import SubmittedPod
from autoscaling.limitrange import LimitRange, LimitType, NamespaceLimits, merge
from autoscaling.pod import Container
from evenkeel.inspection.limit_defaults import as_admitted
from tests.builders import amounts, container, limit_range, pod, printed

DEFAULTS = replace(limit_range(LimitType.CONTAINER, default="500m/-"), default_request=amounts("100m/64Mi"))
LIMITS = merge([LimitRange("default", "l", (DEFAULTS,))])
POD_LIMITS = merge([LimitRange("default", "l", (limit_range(LimitType.POD, maximum="1/-"),))])

ROWS = [
    ("resize:1.5 all", container("a"), LIMITS, {"cpu": "100m", "memory": "64Mi"}, {"cpu": "500m"}),
    ("resize:1.5 some", container("a", "1/-", "2/-"), LIMITS, {"cpu": "1", "memory": "64Mi"}, {"cpu": "2"}),
    ("resize:1.2 request = limit", container("a", "-", "2/-"), LIMITS, {"cpu": "2", "memory": "64Mi"}, {"cpu": "2"}),
    ("resize:1.2 without a LimitRange", container("a", "-", "2/-"), merge([]), {"cpu": "2"}, {"cpu": "2"}),
    ("resize:1.5 pods", container("a"), POD_LIMITS, {}, {}),
]


@pytest.mark.parametrize(("row", "given", "limits", "requests", "wanted"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_filled_in(
    row: str, given: Container, limits: NamespaceLimits, requests: dict[str, str], wanted: dict[str, str]
) -> None:
    submitted = as_admitted(SubmittedPod(pod(given), (False,)), limits)
    (filled,) = submitted.pod.containers
    assert (printed(filled.resources.requests or {}), printed(filled.resources.limits or {})) == (requests, wanted)
    assert submitted.resources_present == (bool(requests),)


def test_init_containers_get_defaults_too() -> None:
    """resize:1.5."""
    base = replace(pod(container("a")), init_containers=(container("i"),))
    submitted = as_admitted(SubmittedPod(base, (False,), (True,)), LIMITS)
    assert submitted.pod.init_containers[0].resources.limits == amounts("500m/-")
    assert (submitted.resources_present, submitted.init_resources_present) == ((True,), (True,))


def test_a_complete_pod_stays_as_it_is() -> None:
    whole = pod(container("a", "1/1Gi", "2/2Gi"))
    assert as_admitted(SubmittedPod(whole, (True,)), LIMITS).pod.containers[0] is whole.containers[0]
