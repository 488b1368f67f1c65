"""HorizontalPodAutoscalers at work: they scale through the scale subresource, and say what they do and why not."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, number, rows, text, value_at
from evenkeel.simulator.api.metrics import Window
from evenkeel.simulator.clock import EPOCH, rfc3339
from evenkeel.simulator.controllers.context import Settings
from tests.evenkeel.simulator.api.hooks import deny, hook, register, webhook
from tests.evenkeel.simulator.api.wire import cluster
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, template, workload

pytestmark = pytest.mark.anyio
PERIOD = Settings().autoscaler_period


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def cpu(share: int, container: str = "") -> JsonObject:
    target: JsonObject = {"type": "Utilization", "averageUtilization": share}
    if container:
        source: JsonObject = {"name": "cpu", "container": container, "target": target}
        return {"type": "ContainerResource", "containerResource": source}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def autoscaler(kind: str = "Deployment", name: str = "web", /, **spec: object) -> JsonObject:
    """Return an autoscaler of the name of its target."""
    versions = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "Farm": "example.dev/v1"}
    target = {"apiVersion": versions.get(kind, "v1"), "kind": kind, "name": name}
    whole: JsonObject = {"scaleTargetRef": target, "maxReplicas": 10, "metrics": [cpu(50)], **spec}
    metadata: JsonObject = {"name": name, "namespace": "default"}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": whole}


def let_use(ground: Ground, milli: int, app: str = "web") -> None:
    """Let each running pod have used so much CPU in the last quarter of a minute; others tell nothing."""
    ground.server.usage.pod_rows.clear()
    for pod in ground.pods(app):
        if text(pod, "status", "phase") == "Running":
            key = (text(pod, "metadata", "namespace"), text(pod, "metadata", "name"))
            ground.server.usage.put_pod(key, {"app": (f"{milli}m", "64Mi")}, Window(ground.clock.now()))


def look(ground: Ground, milli: int) -> None:
    """Let the next look of the autoscaler find that usage."""
    let_use(ground, milli)
    ground.run(PERIOD)


def grounded(spec: JsonObject | None = None, kind: str = "Deployment", replicas: int = 2) -> Ground:
    """Return a cluster whose pods have run for long enough for their CPU to count, and an autoscaler a moment old."""
    ground = Ground()
    ground.create(workload(kind, replicas=replicas))
    ground.run(6 * MINUTE)
    ground.create(autoscaler(kind, **(spec or {})))
    return ground


def status(ground: Ground, name: str = "web") -> JsonObject:
    found = ground.server.store.read("autoscaling/v2", "HorizontalPodAutoscaler", name, "default")
    return child(found, "status")


def conditions(ground: Ground, name: str = "web") -> dict[str, tuple[str, str]]:
    """Return status and reason by type."""
    found = rows(status(ground, name), "conditions")
    return {text(row, "type"): (text(row, "status"), text(row, "reason")) for row in found}


def messages(ground: Ground, reason: str) -> list[str]:
    return [text(event, "message") for event in ground.objects("Event") if event["reason"] == reason]


def replicas(ground: Ground, kind: str = "Deployment") -> int:
    return number(ground.read(kind, "web"), "spec", "replicas")


def test_it_waits_a_period_then_scales_at_once_to_what_usage_calls_for() -> None:
    ground = grounded()
    let_use(ground, 100)
    ground.run(PERIOD - SECOND)
    assert (replicas(ground), status(ground)) == (2, {})
    ground.run(SECOND)
    # 100m of 100m is 100 %, twice the aim.
    assert replicas(ground) == 4
    found = status(ground)
    assert (found["currentReplicas"], found["desiredReplicas"]) == (2, 4)
    assert found["lastScaleTime"] == rfc3339(EPOCH + 6 * MINUTE + PERIOD)
    assert child(rows(found, "currentMetrics")[0], "resource", "current") == {
        "averageValue": "100m",
        "averageUtilization": 100,
    }
    assert conditions(ground) == {
        "AbleToScale": ("True", "SucceededRescale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("False", "DesiredWithinRange"),
    }
    assert messages(ground, "SuccessfulRescale") == ["from 2 to 4 replicas: cpu is above its aim"]
    ground.run(SECOND)
    assert len(ground.pods("web")) == 4
    assert value_at(ground.read("Deployment", "web"), "metadata", "generation") == 2


def test_new_pods_are_given_time_and_the_number_stays_at_the_aim() -> None:
    ground = grounded()
    for milli in (100, 50, 50, 50):
        look(ground, milli)
        assert replicas(ground) == 4
    assert conditions(ground)["AbleToScale"] == ("True", "ReadyForNewScale")
    assert status(ground)["lastScaleTime"] == rfc3339(EPOCH + 6 * MINUTE + PERIOD)


def test_smaller_requests_alone_call_for_more_replicas() -> None:
    """Spec: case:43. Utilization is a share of the requests, so that a VPA that shrinks them makes the target grow."""
    ground = grounded()
    look(ground, 50)
    assert replicas(ground) == 2
    for pod in ground.pods():
        container = rows(pod, "spec", "containers")[0]
        smaller = {**container, "resources": {"requests": {"cpu": "80m", "memory": "64Mi"}}}
        ground.merge("Pod", text(pod, "metadata", "name"), spec={"containers": [smaller]})
    look(ground, 50)
    # 50m of 80m is 62 %, 1.24 times the aim of 50 %.
    assert replicas(ground) == 3


def test_it_shrinks_when_five_minutes_have_called_for_fewer() -> None:
    ground = grounded(replicas=4)
    look(ground, 50)
    for _ in range(19):
        look(ground, 10)
        assert replicas(ground) == 4
        assert conditions(ground)["AbleToScale"] == ("True", "ScaleDownStabilized")
    look(ground, 10)
    assert replicas(ground) == 1
    assert messages(ground, "SuccessfulRescale") == ["from 4 to 1 replicas: cpu is below its aim"]


def test_a_pace_of_its_own_is_kept_from_look_to_look() -> None:
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    ground = grounded({"behavior": {"scaleUp": {"policies": policies}}})
    sizes = []
    for _ in range(6):
        look(ground, 100)
        sizes.append(replicas(ground))
    assert sizes == [3, 3, 3, 3, 4, 4]
    assert conditions(ground)["ScalingLimited"] == ("True", "ScaleUpLimit")


@pytest.mark.parametrize(
    ("spec", "expected", "why"),
    [
        ({"maxReplicas": 3}, 3, "from 5 to 3 replicas: there are more than maxReplicas"),
        ({"minReplicas": 7}, 7, "from 5 to 7 replicas: there are fewer than minReplicas"),
    ],
)
def test_bounds_need_no_metrics(spec: JsonObject, expected: int, why: str) -> None:
    ground = grounded(spec, replicas=5)
    ground.run(PERIOD)
    assert replicas(ground) == expected
    assert messages(ground, "SuccessfulRescale") == [why]
    assert "ScalingActive" not in conditions(ground)


def test_no_replicas_switch_it_off() -> None:
    ground = grounded()
    ground.merge("Deployment", "web", spec={"replicas": 0})
    ground.run(PERIOD)
    assert replicas(ground) == 0
    assert conditions(ground)["ScalingActive"] == ("False", "ScalingDisabled")


def test_without_usage_nothing_changes_and_it_says_so_until_there_is_some() -> None:
    ground = grounded()
    ground.run(2 * PERIOD)
    assert replicas(ground) == 2
    assert conditions(ground)["ScalingActive"] == ("False", "FailedGetResourceMetric")
    assert status(ground)["currentMetrics"] == [{"type": ""}]
    assert {"FailedGetResourceMetric", "FailedComputeMetricsReplicas"} <= set(ground.reasons("HorizontalPodAutoscaler"))
    look(ground, 100)
    assert (replicas(ground), conditions(ground)["ScalingActive"][0]) == (4, "True")


def test_of_several_metrics_the_most_counts() -> None:
    memory: JsonObject = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "16Mi"}},
    }
    ground = grounded({"metrics": [cpu(50), memory]})
    look(ground, 50)
    assert replicas(ground) == 4, "doubled at most, though 64Mi call for eight"
    assert messages(ground, "SuccessfulRescale") == ["from 2 to 4 replicas: memory is above its aim"]
    assert [len(row) for row in rows(status(ground), "currentMetrics")] == [2, 2]


def test_one_container_and_metrics_that_nobody_serves() -> None:
    ground = grounded({"metrics": [cpu(50, "app")]})
    look(ground, 100)
    assert replicas(ground) == 4
    source: JsonObject = {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "3"}}
    lost = grounded({"metrics": [{"type": "External", "external": source}]})
    look(lost, 100)
    assert conditions(lost)["ScalingActive"] == ("False", "FailedGetExternalMetric")


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "ReplicationController"])
def test_everything_with_a_scale_can_be_scaled(kind: str) -> None:
    ground = grounded(kind=kind)
    look(ground, 100)
    assert replicas(ground, kind) == 4


def farms(selector: str = ".status.selector") -> JsonObject:
    """Return the definition of a kind with a scale of its own, under another path than usual."""
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": selector}
    size: JsonObject = {"type": "object", "properties": {"size": {"type": "integer"}}}
    state: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema: JsonObject = {"type": "object", "properties": {"spec": size, "status": state}}
    version: JsonObject = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": {k: v for k, v in paths.items() if v}},
    }
    names = {"kind": "Farm", "plural": "farms", "singular": "farm", "listKind": "FarmList"}
    spec: JsonObject = {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": [version]}
    metadata: JsonObject = {"name": "farms.example.dev"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def farmed(status_: JsonObject, definition: JsonObject | None = None) -> Ground:
    """Return a cluster with a custom object beside a Deployment, whose pods it claims to be its own."""
    ground = grounded()
    ground.server.store.delete("autoscaling/v2", "HorizontalPodAutoscaler", "web", "default")
    ground.create(definition or farms())
    metadata: JsonObject = {"name": "acre", "namespace": "default"}
    ground.create(
        {"apiVersion": "example.dev/v1", "kind": "Farm", "metadata": metadata, "spec": {"size": 2}, "status": status_}
    )
    ground.create(autoscaler("Farm", "acre"))
    return ground


def test_a_custom_kind_is_scaled_by_its_own_paths() -> None:
    ground = farmed({"selector": "app=web", "size": 2})
    look(ground, 100)
    farm = ground.server.store.read("example.dev/v1", "Farm", "acre", "default")
    assert child(farm, "spec") == {"size": 4}
    assert status(ground, "acre")["desiredReplicas"] == 4


@pytest.mark.parametrize(
    ("state", "definition", "event"),
    [
        ({"size": 2}, farms(), "SelectorRequired"),
        ({"size": 2}, farms(""), "SelectorRequired"),
        ({"selector": "app==!", "size": 2}, farms(), "InvalidSelector"),
    ],
)
def test_a_scale_without_a_usable_selector(state: JsonObject, definition: JsonObject, event: str) -> None:
    ground = farmed(state, definition)
    look(ground, 100)
    assert conditions(ground, "acre")["ScalingActive"] == ("False", "InvalidSelector")
    assert event in ground.reasons("HorizontalPodAutoscaler")


@pytest.mark.parametrize(
    ("kind", "said"),
    [("Deployment", "Deployment gone does not exist"), ("DaemonSet", "has no scale"), ("Spaceship", "is of no kind")],
)
def test_a_target_that_is_not_there(kind: str, said: str) -> None:
    ground = grounded()
    lost = autoscaler("Deployment", "gone")
    versions = "apps/v1" if kind != "Spaceship" else "example.dev/v1"
    child(lost, "spec")["scaleTargetRef"] = {"apiVersion": versions, "kind": kind, "name": "gone"}
    ground.create(lost)
    ground.run(PERIOD)
    assert conditions(ground, "gone") == {"AbleToScale": ("False", "FailedGetScale")}
    assert said in messages(ground, "FailedGetScale")[0]


def test_two_autoscalers_of_the_same_pods_both_stop() -> None:
    ground = grounded()
    double = autoscaler()
    child(double, "metadata")["name"] = "double"
    ground.create(double)
    ground.create(autoscaler("Deployment", "gone"))
    ground.create(workload("Deployment", "db", replicas=1))
    ground.create(autoscaler("Deployment", "db"))
    look(ground, 100)
    assert replicas(ground) == 2
    assert conditions(ground, "db")["ScalingActive"][1] != "AmbiguousSelector"
    for name, other in (("web", "double"), ("double", "web")):
        assert conditions(ground, name)["ScalingActive"] == ("False", "AmbiguousSelector")
        assert any(f"scaled by {other} as well" in said for said in messages(ground, "AmbiguousSelector"))
    ground.server.store.delete("autoscaling/v2", "HorizontalPodAutoscaler", "double", "default")
    look(ground, 100)
    assert replicas(ground) == 4


async def test_a_refused_scale_is_told_and_tried_again() -> None:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/*"], "operations": ["UPDATE"]}
    ground = grounded({"maxReplicas": 1})
    async with cluster(ground.server) as wire, hook(deny) as server:
        await register(wire, webhook(server, rules=[rule]))
        await ground.plane.advance(ground.clock.now() + 2 * PERIOD)
        assert replicas(ground) == 2
        assert conditions(ground)["AbleToScale"] == ("False", "FailedUpdateScale")
        assert "not today" in messages(ground, "FailedRescale")[0]
        assert len(server.asked) == 2
        assert "lastScaleTime" not in status(ground)


def test_a_new_autoscaler_of_the_same_name_remembers_nothing() -> None:
    ground = grounded(replicas=4)
    look(ground, 50)
    look(ground, 10)
    assert replicas(ground) == 4
    ground.server.store.delete("autoscaling/v2", "HorizontalPodAutoscaler", "web", "default")
    ground.create(autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 0}}))
    look(ground, 10)
    assert replicas(ground) == 1


def test_it_takes_in_what_is_there_when_it_begins() -> None:
    ground = Ground(plane=False)
    ground.create(workload("Deployment", replicas=1, template=template()))
    ground.create(autoscaler(minReplicas=3))
    ground.plane.start()
    ground.run(PERIOD)
    assert replicas(ground) == 3
    ground.plane.stop()
    ground.merge("Deployment", "web", spec={"replicas": 1})
    ground.run(10 * PERIOD)
    assert replicas(ground) == 1
