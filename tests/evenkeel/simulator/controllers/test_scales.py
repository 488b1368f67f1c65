"""What the controllers of pods ask for, and the size of what an autoscaler scales."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.context import Context, Settings
from evenkeel.simulator.controllers.scales import NoScaleError, expected_by_controllers, scale_of_reference
from tests.evenkeel.simulator.controllers.ground import Ground, workload


def expected(ground: Ground) -> int:
    context = Context(ground.server, Settings())
    return expected_by_controllers(context, ground.server.store.versions.snapshot(PODS))


def test_each_owner_counts_once_and_a_deployment_instead_of_its_sets() -> None:
    ground = Ground()
    ground.create(workload("Deployment", replicas=3))
    ground.create(workload("StatefulSet", "db", replicas=2))
    ground.create(workload("ReplicaSet", "lone", replicas=1))
    ground.run()
    assert len(ground.pods()) == 6
    ground.plane.stop()
    assert expected(ground) == 6
    ground.merge("Deployment", "web", spec={"replicas": 9})
    ground.merge("ReplicaSet", "lone", spec={"replicas": 4})
    assert expected(ground) == 15


def test_an_owner_that_has_gone_or_is_another_one_counts_for_nothing() -> None:
    ground = Ground()
    ground.create(workload("StatefulSet", "db", replicas=2))
    ground.create(workload("Deployment", replicas=2))
    ground.run()
    ground.plane.stop()
    ground.delete("StatefulSet", "db")
    assert expected(ground) == 2
    ground.create(workload("StatefulSet", "db", replicas=7))
    assert expected(ground) == 2
    ground.delete("Deployment", "web")
    assert expected(ground) == 0


@pytest.mark.parametrize(
    ("kind", "message"), [("DaemonSet", "DaemonSet web of apps/v1 has no scale"), ("Job", "has no scale")]
)
def test_an_owner_without_a_scale_is_an_error(kind: str, message: str) -> None:
    ground = Ground()
    ground.create(workload(kind))
    ground.run()
    with pytest.raises(NoScaleError, match=message):
        expected(ground)


@pytest.mark.parametrize(
    ("kind", "version", "selector"),
    [
        ("Deployment", "apps/v1", "app=web"),
        ("Deployment", "apps/v1beta2", "app=web"),
        ("StatefulSet", "apps/v1", "app=web"),
        ("ReplicationController", "v1", "app=web"),
    ],
)
def test_the_size_of_what_is_named_in_whatever_version(kind: str, version: str, selector: str) -> None:
    ground = Ground(plane=False)
    ground.create(workload(kind, replicas=3))
    context = Context(ground.server, Settings())
    scale = scale_of_reference(context, "default", {"apiVersion": version, "kind": kind, "name": "web"})
    assert (scale.replicas, scale.selector, scale.stored.key) == (3, selector, ("default", "web"))


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"}, "Deployment gone does not exist"),
        ({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d"}, "DaemonSet d of apps/v1 has no scale"),
        ({"apiVersion": "other/v1", "kind": "Deployment", "name": "d"}, "Deployment d of other/v1 is of no kind"),
    ],
)
def test_what_has_no_size(reference: JsonObject, said: str) -> None:
    context = Context(Ground(plane=False).server, Settings())
    with pytest.raises(NoScaleError, match=said):
        scale_of_reference(context, "default", reference)
