"""The QoS class of a pod, and what of it decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.pod import Container
from autoscaling.qos import QosClass, pod_qos, qos_class, spec_qos
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from autoscaling.sidecars import with_sidecars
from tests.builders import container, pod, sidecar, with_init_containers

BEST_EFFORT, BURSTABLE, GUARANTEED = QosClass.BEST_EFFORT, QosClass.BURSTABLE, QosClass.GUARANTEED
FULL = container("full", "1/1Gi", "1000m/1024Mi")


@pytest.mark.parametrize(
    ("row", "containers", "expected"),
    [
        ("resize:V4", (), BEST_EFFORT),
        ("resize:V4", (container("c"),), BEST_EFFORT),
        ("resize:V4 zero does not count", (container("c", "0/0", "0/0"),), BEST_EFFORT),
        ("resize:V4", (container("c", "1m"),), BURSTABLE),
        ("resize:V4", (container("c", "1/1Gi"),), BURSTABLE),
        ("resize:V4 one limit missing", (container("c", "1/1Gi", "1"),), BURSTABLE),
        ("resize:V4 one request below", (container("c", "1/1073741823", "1/1Gi"),), BURSTABLE),
        ("resize:V4", (FULL,), GUARANTEED),
        ("resize:V4 one of two unlimited", (FULL, container("c")), BURSTABLE),
        ("resize:V4 all of them", (FULL, replace(FULL, name="other")), GUARANTEED),
        # Sums are compared, but no request may exceed its limit, so every container has what it asks for.
        ("resize:V4", (container("a", "1/1Gi", "2/1Gi"), container("b", "2/1Gi", "2/1Gi")), BURSTABLE),
    ],
)
def test_classes(row: str, containers: tuple[Container, ...], expected: QosClass) -> None:
    assert qos_class(c.resources for c in containers) is expected, row
    assert spec_qos(pod(*containers)) is expected, row


def test_other_resources_do_not_count() -> None:
    other = ContainerResources(
        {"ephemeral-storage": Quantity.parse("1Gi")}, {"example.com/device": Quantity.parse("1")}
    )
    assert qos_class([other]) is BEST_EFFORT


def test_init_containers_count_whether_they_keep_running_or_not() -> None:
    for init in (container("setup"), sidecar("proxy")):
        made = with_init_containers(pod(FULL), init)
        assert spec_qos(made) is BURSTABLE
        assert spec_qos(with_sidecars(made)) is BURSTABLE


def test_the_status_has_the_last_word() -> None:
    assert pod_qos(pod(FULL)) is GUARANTEED
    assert pod_qos(replace(pod(FULL), qos_class="Burstable")) is BURSTABLE
    assert pod_qos(replace(pod(FULL), qos_class="SomethingNew")) is GUARANTEED
