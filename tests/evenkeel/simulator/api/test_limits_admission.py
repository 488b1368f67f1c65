"""LimitRanges: what they fill in, what they refuse."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows, text, value_at
from evenkeel.simulator.api.server import ApiServer
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, Wire, cluster, container, pod

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def limit_range(*items: JsonObject, name: str = "limits") -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": list(items)}}


def item(kind: str = "Container", **bounds: JsonObject) -> JsonObject:
    return {"type": kind, **bounds}


def resources(wire: Wire, name: str = "a", group: str = "containers") -> list[JsonObject]:
    stored = wire.server.store.read("v1", "Pod", name, "default")
    return [child(each, "resources") for each in rows(stored, "spec", group)]


async def resize(wire: Wire, **sections: JsonObject) -> tuple[int, str]:
    change = {"spec": {"containers": [{"name": "app", "resources": sections}]}}
    answer = await wire.patch(f"{PODS}/a/resize", change, STRATEGIC_PATCH)
    return answer.code, text(answer.body, "message")


async def test_r41_a_resize_above_the_maximum_is_forbidden() -> None:
    """Row resize:R41 of the scenarios."""
    async with cluster() as wire:
        await wire.post(PODS, pod())
        wire.server.store.create(limit_range(item(max={"cpu": "1"})))
        change = {
            "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}}]}
        }
        answer = await wire.patch(f"{PODS}/a/resize", change, STRATEGIC_PATCH)
        assert (answer.code, answer.body["reason"], answer.causes) == (403, "Forbidden", [])
        assert "maximum cpu usage per Container is 1, but limit is 2" in text(answer.body, "message")
        assert value_at(wire.server.store.read("v1", "Pod", "a", "default"), "metadata", "generation") == 1
        assert (await resize(wire, requests={"cpu": "1"}, limits={"cpu": "1"}))[0] == 200


CPU = {"requests": {"cpu": "200m"}, "limits": {"cpu": "500m"}}


@pytest.mark.parametrize(
    ("row", "bounds", "own", "message"),
    [
        ("at the minimum", item(min={"cpu": "200m"}), CPU, ""),
        (
            "below the minimum",
            item(min={"cpu": "201m"}),
            CPU,
            "minimum cpu usage per Container is 201m, but request is 200m",
        ),
        ("at the maximum", item(max={"cpu": "500m"}), CPU, ""),
        (
            "above the maximum",
            item(max={"cpu": "499m"}),
            CPU,
            "maximum cpu usage per Container is 499m, but limit is 500m",
        ),
        ("no limit under a maximum", item("Pod", max={"cpu": "1"}), {"requests": {"cpu": "1"}}, "but no limit is set"),
        ("no request over a minimum", item("Pod", min={"cpu": "1"}), {}, "but no request is set"),
        ("at the ratio", item(maxLimitRequestRatio={"cpu": "2500m"}), CPU, ""),
        (
            "above the ratio",
            item(maxLimitRequestRatio={"cpu": "2"}),
            CPU,
            "ratio per Container is 2, but provided ratio is 2.500000",
        ),
        (
            "a ratio without a request",
            item(maxLimitRequestRatio={"memory": "2"}),
            CPU,
            "but no request is set or it is 0",
        ),
        (
            "a ratio without a limit",
            item(maxLimitRequestRatio={"cpu": "2"}),
            {"requests": {"cpu": "1"}},
            "but no limit is set or it is 0",
        ),
        ("a request above the maximum", item("Pod", max={"cpu": "1"}), CPU, ""),
        (
            "the sum of a pod",
            item("Pod", max={"cpu": "400m"}),
            CPU,
            "maximum cpu usage per Pod is 400m, but limit is 500m",
        ),
        ("claims do not concern pods", item("PersistentVolumeClaim", max={"storage": "1"}), CPU, ""),
    ],
)
async def test_bounds(row: str, bounds: JsonObject, own: JsonObject, message: str) -> None:
    """Spec: in-place-resize 1.5."""
    async with cluster() as wire:
        wire.server.store.create(limit_range(bounds))
        answer = await wire.post(PODS, pod("a", container() | {"resources": own}))
        assert (answer.code == 403) is bool(message), row
        assert message in text(answer.body, "message"), row


async def test_the_sums_of_a_pod_may_violate_on_either_side() -> None:
    """A pod's sum of limits may lie below its sum of requests, as containers may have no limit."""
    async with cluster() as wire:
        wire.server.store.create(limit_range(item("Pod", max={"cpu": "2"}, min={"memory": "2Gi"})))
        one = container("app", requests={"cpu": "3", "memory": "2Gi"})
        other = container("b", requests={"cpu": "1"}, limits={"cpu": "1", "memory": "1Gi"})
        message = text((await wire.post(PODS, pod("a", one, other))).body, "message")
        assert "maximum cpu usage per Pod is 2, but request is 4" in message
        assert "minimum memory usage per Pod is 2Gi, but limit is 1Gi" in message


async def test_several_violations_are_told_together() -> None:
    async with cluster() as wire:
        wire.server.store.create(limit_range(item(max={"cpu": "1", "memory": "1Mi"})))
        answer = await wire.post(PODS, pod("a", container(requests={"cpu": "2"}, limits={"cpu": "2", "memory": "2Mi"})))
        assert "[maximum cpu" in text(answer.body, "message")
        assert ", maximum memory usage per Container is 1Mi, but limit is 2Mi]" in text(answer.body, "message")


async def test_init_containers_are_held_to_the_bounds_of_containers() -> None:
    async with cluster() as wire:
        wire.server.store.create(limit_range(item(max={"cpu": "1"})))
        large = container("setup", requests={"cpu": "2"}, limits={"cpu": "2"})
        made = pod("a", container(requests={"cpu": "1"}, limits={"cpu": "1"}))
        child(made, "spec")["initContainers"] = [large]
        assert (await wire.post(PODS, made)).code == 403


@pytest.mark.parametrize(
    ("row", "given", "completed"),
    [
        (
            "max becomes default and request",
            {"max": {"cpu": "2"}},
            {"default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}},
        ),
        (
            "default becomes request",
            {"default": {"cpu": "1"}},
            {"default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}},
        ),
        ("min becomes request", {"min": {"cpu": "1"}}, {"defaultRequest": {"cpu": "1"}}),
        (
            "default goes before min",
            {"min": {"cpu": "1"}, "default": {"cpu": "3"}},
            {"default": {"cpu": "3"}, "defaultRequest": {"cpu": "3"}},
        ),
        (
            "what is given stays",
            {"max": {"cpu": "4"}, "default": {"cpu": "3"}, "defaultRequest": {"cpu": "2"}},
            {"default": {"cpu": "3"}, "defaultRequest": {"cpu": "2"}},
        ),
    ],
)
def test_a_limit_range_completes_itself(row: str, given: JsonObject, completed: JsonObject) -> None:
    stored = ApiServer().store.create(limit_range({"type": "Container"} | given))
    shown = rows(stored, "spec", "limits")[0]
    assert {key: shown[key] for key in ("default", "defaultRequest") if key in shown} == completed, row
    assert rows(ApiServer().store.create(limit_range(item("Pod", max={"cpu": "1"}))), "spec", "limits") == [
        item("Pod", max={"cpu": "1"})
    ]


async def test_a_new_pod_gets_the_defaults_of_its_namespace() -> None:
    async with cluster() as wire:
        wire.server.store.create(
            limit_range(item(default={"cpu": "1", "memory": "1Gi"}, defaultRequest={"cpu": "100m"}))
        )
        made = pod("a", container("app", requests={"cpu": "50m"}), container("b", limits={"memory": "64Mi"}))
        child(made, "spec")["initContainers"] = [container("setup")]
        assert (await wire.post(PODS, made)).code == 201
        assert resources(wire) == [
            {"requests": {"cpu": "50m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            {"requests": {"memory": "64Mi", "cpu": "100m"}, "limits": {"memory": "64Mi", "cpu": "1"}},
        ]
        assert resources(wire, group="initContainers")[0]["limits"] == {"cpu": "1", "memory": "1Gi"}
        note = child(wire.server.store.read("v1", "Pod", "a", "default"), "metadata", "annotations")
        assert "cpu limit of container app" in str(note["kubernetes.io/limit-ranger"])


async def test_other_namespaces_are_not_concerned() -> None:
    async with cluster() as wire:
        made = limit_range(item(default={"cpu": "1"}))
        child(made, "metadata")["namespace"] = "kube-system"
        wire.server.store.create(made)
        await wire.post(PODS, pod("a", container()))
        assert resources(wire) == [{}]


async def test_a_later_limit_range_fills_in_at_the_first_resize() -> None:
    """Trap of in-place-resize 1.5: a pod that only requests gains the default limits."""
    async with cluster() as wire:
        await wire.post(PODS, pod("a", container(requests={"cpu": "100m"})))
        wire.server.store.create(limit_range(item(default={"cpu": "1"})))
        assert (await resize(wire, requests={"cpu": "200m"}))[0] == 200
        assert resources(wire) == [{"requests": {"cpu": "200m"}, "limits": {"cpu": "1"}}]


async def test_a_later_limit_range_makes_even_an_empty_resize_change_the_qos_class() -> None:
    """Trap of in-place-resize 1.5: on a pod without resources, rule V4 refuses what the LimitRange fills in."""
    async with cluster() as wire:
        await wire.post(PODS, pod("a", container()))
        wire.server.store.create(limit_range(item(default={"cpu": "1"})))
        answer = await wire.patch(f"{PODS}/a/resize", {}, STRATEGIC_PATCH)
        assert (answer.code, answer.causes) == (422, [("FieldValueInvalid", "spec")])


async def test_a_later_limit_range_changes_a_plain_init_container() -> None:
    """Trap of in-place-resize 1.5: rule V12 refuses every resize of such a pod."""
    async with cluster() as wire:
        made = pod()
        child(made, "spec")["initContainers"] = [container("setup")]
        await wire.post(PODS, made)
        wire.server.store.create(limit_range(item(default={"cpu": "1"})))
        code, message = await resize(wire, requests={"cpu": "150m"})
        assert (code, "init containers" in message) == (422, True)


async def test_ordinary_updates_are_not_touched() -> None:
    async with cluster() as wire:
        await wire.post(PODS, pod("a", container()))
        wire.server.store.create(limit_range(item(default={"cpu": "1"}, max={"cpu": "1"})))
        assert (await wire.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})).code == 200
        assert (await wire.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})).code == 200
        assert resources(wire) == [{}]
