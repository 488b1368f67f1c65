"""Pods on their way into the store."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.containers import qos_class
from evenkeel.simulator.api.fields import JsonObject, as_object, child, rows, value_at
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, burstable, cluster, container, pod

pytestmark = pytest.mark.anyio
FULL: JsonObject = {"cpu": "1", "memory": "1Gi"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("what", "containers", "expected"),
    [
        ("nothing set", [container()], "BestEffort"),
        ("zero amounts", [container(requests={"cpu": "0"}, limits={"memory": "0"})], "BestEffort"),
        ("other resources only", [container(requests={"ephemeral-storage": "1Gi"})], "BestEffort"),
        ("requests below limits", [burstable()], "Burstable"),
        ("requests only", [container(requests=dict(FULL))], "Burstable"),
        ("one limit missing", [container(requests={"cpu": "1"}, limits={"cpu": "1"})], "Burstable"),
        ("equal", [container(requests=dict(FULL), limits={"cpu": "1000m", "memory": "1024Mi"})], "Guaranteed"),
        ("one of two unlimited", [container(requests=dict(FULL), limits=dict(FULL)), container("b")], "Burstable"),
    ],
)
def test_qos_classes(what: str, containers: list[JsonObject], expected: str) -> None:
    assert qos_class(pod("a", *containers)) == expected, what


def test_init_containers_count_for_the_qos_class() -> None:
    made = pod("a", container(requests=dict(FULL), limits=dict(FULL)))
    child(made, "spec")["initContainers"] = [container("setup")]
    assert qos_class(made) == "Burstable"


async def test_a_new_pod_is_pending_with_defaults_and_requests_what_it_limits() -> None:
    async with cluster() as wire:
        made = pod("a", container(limits=dict(FULL))) | {"status": {"phase": "Running"}}
        created = (await wire.post(PODS, made)).body
        assert created["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}
        assert child(created, "metadata")["generation"] == 1
        assert value_at(created, "spec", "restartPolicy") == "Always"
        assert value_at(created, "spec", "terminationGracePeriodSeconds") == 30
        assert child(rows(created, "spec", "containers")[0], "resources", "requests") == FULL


def policies(*pairs: tuple[str, str]) -> JsonObject:
    return burstable() | {"resizePolicy": [{"resourceName": name, "restartPolicy": restart} for name, restart in pairs]}


@pytest.mark.parametrize(
    ("what", "containers", "spec", "causes"),
    [
        ("no containers", [], {"containers": []}, [("FieldValueRequired", "spec.containers")]),
        ("no name", [{"image": "x"}], {}, [("FieldValueRequired", "spec.containers[0].name")]),
        ("no image", [{"name": "x"}], {}, [("FieldValueRequired", "spec.containers[0].image")]),
        ("same name", [burstable(), burstable()], {}, [("FieldValueDuplicate", "spec.containers[1].name")]),
        (
            "request above limit",
            [container(requests={"cpu": "2"}, limits={"cpu": "1"})],
            {},
            [("FieldValueInvalid", "spec.containers[0].resources.requests")],
        ),
        (
            "overcommitted extended resource",
            [container(requests={"a.b/c": "1"}, limits={"a.b/c": "2"})],
            {},
            [("FieldValueInvalid", "spec.containers[0].resources.requests")],
        ),
        (
            "ephemeral container with resources",
            [burstable()],
            {"ephemeralContainers": [container("e", requests={"cpu": "1"})]},
            [("FieldValueForbidden", "spec.ephemeralContainers[0].resources")],
        ),
        (
            "resize policy of another resource",
            [policies(("gpu", "NotRequired"))],
            {},
            [("FieldValueNotSupported", "spec.containers[0].resizePolicy[0].resourceName")],
        ),
        (
            "resize policy twice",
            [policies(("cpu", "NotRequired"), ("cpu", "NotRequired"))],
            {},
            [("FieldValueDuplicate", "spec.containers[0].resizePolicy")],
        ),
        (
            "unknown resize policy",
            [policies(("cpu", "Sometimes"))],
            {},
            [("FieldValueNotSupported", "spec.containers[0].resizePolicy[0].restartPolicy")],
        ),
        (
            "resize:R58",
            [policies(("memory", "RestartContainer"))],
            {"restartPolicy": "Never"},
            [("FieldValueInvalid", "spec.containers[0].resizePolicy[0].restartPolicy")],
        ),
        ("resize:R58 without restart", [policies(("memory", "NotRequired"))], {"restartPolicy": "Never"}, []),
    ],
)
async def test_refused_pods(
    what: str, containers: list[JsonObject], spec: JsonObject, causes: list[tuple[str, str]]
) -> None:
    async with cluster() as wire:
        made = pod("a", *containers)
        child(made, "spec").update(spec)
        answer = await wire.post(PODS, made)
        assert (answer.code, answer.causes) == (422 if causes else 201, causes), what


@pytest.mark.parametrize(
    ("what", "patch", "code"),
    [
        ("image", {"spec": {"containers": [{"name": "app", "image": "other"}]}}, 200),
        ("deadline", {"spec": {"activeDeadlineSeconds": 5}}, 200),
        ("metadata", {"metadata": {"annotations": {"a": "b"}}}, 200),
        ("node", {"spec": {"nodeName": "n1"}}, 422),
        ("command", {"spec": {"containers": [{"name": "app", "command": ["x"]}]}}, 422),
        ("service account", {"spec": {"serviceAccountName": "x"}}, 422),
    ],
)
async def test_what_can_change_of_a_pod_through_the_main_resource(what: str, patch: JsonObject, code: int) -> None:
    async with cluster() as wire:
        await wire.post(PODS, pod())
        assert (await wire.patch(f"{PODS}/a", patch, STRATEGIC_PATCH)).code == code, what


async def test_the_status_endpoint_keeps_observed_generation_and_qos_class() -> None:
    """in-place-resize 1.7: an observedGeneration of 0 or null does not replace the stored one."""
    async with cluster() as wire:
        await wire.post(PODS, pod())
        path = f"{PODS}/a/status"
        first = await wire.patch(
            path, {"status": {"phase": "Running", "observedGeneration": 1, "qosClass": "BestEffort"}}
        )
        assert first.body["status"] == {"phase": "Running", "observedGeneration": 1, "qosClass": "Burstable"}
        for kept in (0, None):
            sent = as_object(first.body | {"status": {"phase": "Failed", "observedGeneration": kept}})
            child(sent, "metadata").pop("resourceVersion", None)
            again = await wire.call("PUT", path, sent)
            assert value_at(again.body, "status", "observedGeneration") == 1
        assert value_at(again.body, "status", "phase") == "Failed"
        assert child(again.body, "metadata")["generation"] == 1
