"""A pod as a resize would leave its spec."""

from __future__ import annotations

from autoscaling.target_resources import ContainerTarget
from tests.builders import amounts, container, pod, printed
from updater.resized_pod import resized


def test_what_is_set_takes_the_place_of_what_was() -> None:
    made = pod(container("a", "1/1Gi", "2/2Gi"), container("b", "1"), container("c"))
    targets = (ContainerTarget(amounts("3"), amounts("6")), None, ContainerTarget({}, amounts("-/1Mi")))
    after = resized(made, targets)
    lists = [(printed(c.resources.requests or {}), printed(c.resources.limits or {})) for c in after.containers]
    assert lists == [
        ({"cpu": "3", "memory": "1Gi"}, {"cpu": "6", "memory": "2Gi"}),
        ({"cpu": "1"}, {}),
        ({"memory": "1Mi"}, {"memory": "1Mi"}),
    ], "resize:1.2"
    assert made.containers[0].resources.requests == amounts("1/1Gi")
