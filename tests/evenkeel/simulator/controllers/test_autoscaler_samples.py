"""Usage as the metrics API has it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import EPOCH, rfc3339
from evenkeel.simulator.controllers.autoscaler_replicas import NoProposalError, Sample
from evenkeel.simulator.controllers.autoscaler_samples import samples_of
from evenkeel.simulator.controllers.autoscaler_spec import Metric, MetricType

WINDOW = timedelta(seconds=15, milliseconds=250)


def row(name: str, **containers: JsonObject) -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "timestamp": rfc3339(EPOCH),
        "window": "15.25s",
        "containers": [{"name": key, "usage": usage} for key, usage in containers.items()],
    }


ROWS = [
    row("a", app={"cpu": "100500001n", "memory": "2Ki"}, proxy={"cpu": "20m", "memory": "1Ki"}),
    row("b", app={"cpu": "1"}, proxy={"cpu": "2"}),
    row("c", app={"cpu": "1", "memory": "1Ki"}, proxy={"cpu": "2", "memory": "1Ki"}),
]


def test_containers_are_added_up_in_thousandths_each_rounded_up() -> None:
    found = samples_of(Metric(MetricType.RESOURCE, "cpu"), ROWS, {"a", "b"})
    assert found == {"a": Sample(121, EPOCH, WINDOW), "b": Sample(3000, EPOCH, WINDOW)}


def test_one_container_alone() -> None:
    found = samples_of(Metric(MetricType.CONTAINER_RESOURCE, "cpu", "proxy"), ROWS, {"a"})
    assert found == {"a": Sample(20, EPOCH, WINDOW)}


def test_a_pod_that_does_not_tell_all_is_left_out() -> None:
    found = samples_of(Metric(MetricType.RESOURCE, "memory"), ROWS, {"a", "b"})
    assert found == {"a": Sample(3 * 1024 * 1000, EPOCH, WINDOW)}


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (Metric(MetricType.CONTAINER_RESOURCE, "cpu", "other"), "no usage of a container 'other' is known of pod a"),
        (Metric(MetricType.EXTERNAL), "serves no metrics but those"),
    ],
)
def test_what_cannot_be_read(metric: Metric, said: str) -> None:
    with pytest.raises(NoProposalError, match=said):
        samples_of(metric, ROWS, {"a"})
