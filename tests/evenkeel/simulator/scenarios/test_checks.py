"""Expectations against made-up ends: what holds, and what is said where something does not."""

from __future__ import annotations

import pytest
import yaml
from pydantic import TypeAdapter

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.scenarios.checks import examine, value_at_path
from evenkeel.simulator.scenarios.evidence import Evidence
from evenkeel.simulator.scenarios.expectations import Check
from evenkeel.simulator.scenarios.reading import parse_scenario
from tests.evenkeel.simulator.scenarios.scene import SCENARIO, call, created, decided, evidence, pod, told, vpa

_CHECKS: TypeAdapter[Check] = TypeAdapter(Check)

DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
OVER = {"type": "PodResizeInProgress", "status": "False"}

LEAVING = {"name": "web-d", "labels": {"app": "web"}, "deletionTimestamp": "2026-01-01T00:00:00Z"}
C = {"name": "c", "namespace": "default"}

END = evidence(
    pod("web-a", restarts=1, conditions=[DEFERRED, OVER]),
    pod("web-c", phase="Running"),
    {**pod("web-d"), "metadata": LEAVING},
    pod("web-api-a", "web-api"),
    pod("each-a", "each"),
    pod("each-b", "each"),
    vpa(),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": C, "data": {"a": "1000m"}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": "k"}]}},
    happenings=(
        created("web-a"),
        created("web-b"),
        created("web-c"),
        created("web-api-a", "web-api"),
        created("each-a", "each"),
        created("each-b", "each"),
        told(30, "ResizeDeferred", "web-a", "no room"),
        told(40, "ResizeDeferred", "web-c", "no room at all"),
        told(50, "ResizeDeferred", "web-api-a", "no room"),
        told(60, "ScalingReplicaSet", "web", "up"),
        decided(345, "web-b"),
        decided(350, "web-c", "resize", "outside_bounds"),
        decided(360, "web-api-a"),
    ),
    calls=(
        call("patch", "pods/resize", 200),
        call("patch", "pods/resize", 200),
        call("patch", "pods/resize", 403),
        call("get", "pods", 200),
    ),
)  # fmt: skip
EMPTY = evidence()


def problems(check: str, against: Evidence = END) -> list[str]:
    return list(examine(_CHECKS.validate_python(yaml.safe_load(check)), against).problems)


def pod_with_sidecar() -> JsonObject:
    """A pod whose init container ``setup`` has ended and whose sidecar ``proxy`` was restarted twice."""
    made = pod("web-api-b", "web-api", restarts=1)
    spec, status = made["spec"], made["status"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    asked = {"requests": {"cpu": "10m"}}
    spec["initContainers"] = [{"name": name, "image": "i", "resources": asked} for name in ("setup", "proxy")]
    reported = {"requests": {"cpu": "20m"}}
    status["initContainerStatuses"] = [
        {"name": "setup", "restartCount": 0},
        {"name": "proxy", "restartCount": 2, "resources": reported},
    ]
    return made


@pytest.mark.parametrize(
    "check",
    [
        "{pods: web-api, restarts: 3, requests: {cpu: 400m}}",
        "{pods: web-api, container: proxy, requests: {cpu: 20m}, asked: {cpu: 10m}}",
        "{pods: web-api, container: setup, requests: {cpu: 10m}}",
    ],
)
def test_init_containers_can_be_asked_for_by_name(check: str) -> None:
    """Spec: beyond:B-16."""
    assert problems(check, evidence(pod_with_sidecar())) == []


@pytest.mark.parametrize(
    "check",
    [
        "{pods: web}",
        "{pods: web, count: 2, phase: Running}",
        "{pods: web, count: {min: 1, max: 2}}",
        "{pods: web, kept: 1}",
        "{pods: each, kept: 2}",
        "{pods: web, restarts: {max: 1}}",
        "{pods: web, requests: {cpu: 400m, memory: 104857600}, limits: {cpu: 4000m}}",
        "{pods: web, requests: {cpu: {min: 399m, max: 1}}}",
        "{pods: web, container: side, requests: {cpu: 1m}}",
        "{pods: web, asked: {cpu: 50m}}",
        "{pods: web, nodes: [node-1, node-2], without: [PodResizeInProgress]}",
        "{events: ResizeDeferred, of: web, count: 2, message: at all}",
        "{events: ResizeDeferred, count: 3}",
        "{events: ScalingReplicaSet, of: web, count: 1}",
        "{events: Nothing, count: 0}",
        "{events: ResizeDeferred, within: {after: 30s, before: 30s}}",
        "{decisions: evict, of: web, count: 1, within: {since: ResizeDeferred, after: 5m, before: 5m15s}}",
        "{decisions: evict, reason: resize_timed_out, count: 2}",
        "{decisions: wait, count: 0}",
        "{requests: patch pods/resize, codes: {200: 2, 403: {min: 1}}}",
        "{requests: create pods/eviction, codes: {}}",
        "{requests: create pods/eviction, codes: {201: 0}}",
        "{vpa: web, target: {cpu: 400m, memory: 100Mi}, upperBound: {cpu: 1}, lowerBound: {cpu: {max: 30m}}}",
        "{vpa: web, container: side, target: {cpu: 5m}}",
        "{vpa: web, conditions: {RecommendationProvided: 'True'}}",
        "{near: [web, web], apart: 0}",
        "{object: {kind: ConfigMap, name: c}, fields: {data.a: '1'}}",
        "{object: {kind: Node, name: n}, fields: {spec.taints.0.key: k, spec.unschedulable: null}}",
        "{object: {kind: ConfigMap, name: d}, absent: true}",
    ],
)
def test_what_holds(check: str) -> None:
    assert problems(check) == []


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("{pods: web, count: 3}", ["2 pods"]),
        ("{pods: web, kept: 2}", ["1 of the first pods are still there"]),
        ("{pods: web, phase: Pending, count: 2}", ["web-a: phase Running", "web-c: phase Running"]),
        ("{pods: web, restarts: 0}", ["web-a: 1 restarts"]),
        ("{pods: web-api, requests: {cpu: 401m}}", ["web-api-a: requests cpu 400m"]),
        ("{pods: web-api, limits: {disk: 1}}", ["web-api-a: limits disk is not there"]),
        ("{pods: web-api, asked: {cpu: 51m}}", ["web-api-a: requests in the spec cpu 50m"]),
        ("{pods: web-api, nodes: [node-2]}", ["web-api-a: on node node-1"]),
        ("{pods: web-api, conditions: {PodResizePending: Deferred}}",
         ["web-api-a: condition PodResizePending is not there"]),
        ("{pods: web, conditions: {PodResizePending: Infeasible}}",
         ["web-a: condition PodResizePending Deferred", "web-c: condition PodResizePending is not there"]),
        ("{pods: web, without: [PodResizePending]}", ["web-a: condition PodResizePending Deferred is there"]),
        ("{events: ResizeDeferred, of: web, count: 1}", ["2 times"]),
        ("{events: ResizeDeferred, message: room for all}",
         ["nothing said 'room for all', but 'no room' and 'no room at all'"]),
        ("{events: Nothing, count: 0, message: x}", ["nothing said 'x'"]),
        ("{events: ResizeDeferred, within: {after: 31s}}", ["first after 30s"]),
        ("{events: ResizeDeferred, within: {before: 29s}}", ["first after 30s"]),
        ("{decisions: evict, within: {since: Nothing}}", ["no event Nothing to count from"]),
        ("{decisions: evict, within: {since: ResizeDeferred, after: 5m16s}}", ["first after 5m15s"]),
        ("{decisions: evict, reason: resize_failed}", ["0 times"]),
        ("{requests: patch pods/resize, codes: {200: 2}}", ["403 1 times"]),
        ("{requests: patch pods/resize, codes: {200: 1, 403: 1, 404: 1}}", ["200 2 times", "404 0 times"]),
        ("{requests: patch pods/resize, codes: {}}", ["200 2 times", "403 1 times"]),
        ("{vpa: web, target: {cpu: {min: 401m}}, uncappedTarget: {cpu: 1}}",
         ["target cpu 400m", "uncappedTarget cpu is not there"]),
        ("{vpa: web, none: true}", ["recommends {'cpu': '400m', 'memory': '100Mi'}"]),
        ("{vpa: web, conditions: {LowConfidence: 'True'}}", ["condition LowConfidence is not there"]),
        ("{object: {kind: ConfigMap, name: c}, fields: {data.a: '2', data.b: x}}",
         ["data.a is '1000m'", "data.b is None"]),
        ("{object: {kind: ConfigMap, name: c}, absent: true}", ["it exists"]),
        ("{object: {kind: ConfigMap, name: d}, fields: {data.a: x}}", ["it does not exist"]),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_said(check: str, said: list[str]) -> None:
    assert problems(check) == said


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("{pods: web, count: 0}", []),
        ("{pods: web}", ["0 pods"]),
        ("{vpa: web, none: true}", []),
        ("{near: [web]}", ["web recommends nothing"]),
    ],
)
def test_of_an_empty_cluster(check: str, said: list[str]) -> None:
    assert problems(check, EMPTY) == said


@pytest.mark.parametrize(
    ("ours", "theirs", "apart", "said"),
    [
        ({"cpu": "100m"}, {"cpu": "105m"}, 0.05, []),
        ({"cpu": "100m"}, {"cpu": "106m"}, 0.05, ["cpu: web 100m, other 106m"]),
        ({"cpu": "1"}, {"cpu": "1000m"}, 0.0, []),
        ({"cpu": "1"}, {"cpu": "1", "memory": "1Mi"}, 0.5, ["memory: web None, other 1Mi"]),
    ],
)
def test_two_recommendations_are_near(ours: JsonObject, theirs: JsonObject, apart: float, said: list[str]) -> None:
    def recommending(name: str, target: JsonObject) -> JsonObject:
        entry = {"containerName": "main", "target": target}
        status = {"recommendation": {"containerRecommendations": [entry]}}
        return {**vpa(), "metadata": {"name": name, "namespace": "default"}, "status": status}

    end = evidence(recommending("web", ours), recommending("other", theirs))
    both = parse_scenario(SCENARIO.replace("{web: {}}", "{web: {}, other: {target: Deployment/web}}"), "made up")
    end = Evidence(both, end.store, (), ())
    assert problems(f"{{near: [web, other], apart: {apart}}}", end) == said


def test_paths_lead_through_lists_and_end_at_what_is_not_there() -> None:
    found: object = {"a": [{"b": 1}, {"b": [2, 3]}]}
    assert value_at_path(found, "a.1.b.0") == 2
    assert value_at_path(found, "a.2") is None
    assert value_at_path(found, "a.b") is None
    assert value_at_path(found, "a.0.b.c") is None
