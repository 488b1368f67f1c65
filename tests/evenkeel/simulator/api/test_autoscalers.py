"""HorizontalPodAutoscalers on their way into the store."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, rows, text
from tests.evenkeel.simulator.api.wire import Wire, cluster

pytestmark = pytest.mark.anyio
PATH = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def autoscaler(**spec: object) -> JsonObject:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 5, **spec},
    }


def resource(**target: object) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


async def faults(wire: Wire, obj: JsonObject) -> list[str]:
    """Create an object and return the fields that are at fault."""
    answer = await wire.post(PATH, obj)
    if answer.code == 201:
        return []
    assert answer.code == 422
    return [text(cause, "field").removeprefix("spec.") for cause in rows(answer.body, "details", "causes")]


async def test_what_is_left_open_is_filled_in() -> None:
    async with cluster() as wire:
        behavior: JsonObject = {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}
        answer = await wire.post(PATH, autoscaler(behavior=behavior))
        spec = child(answer.body, "spec")
        assert spec["minReplicas"] == 1
        assert spec["metrics"] == [resource(type="Utilization", averageUtilization=80)]
        up, down = child(spec, "behavior", "scaleUp"), child(spec, "behavior", "scaleDown")
        assert (up["stabilizationWindowSeconds"], up["selectPolicy"], len(rows(up, "policies"))) == (0, "Max", 1)
        assert "stabilizationWindowSeconds" not in down, "the controller's own window applies"
        assert rows(down, "policies") == [{"type": "Percent", "value": 100, "periodSeconds": 15}]


async def test_a_pace_is_not_invented() -> None:
    async with cluster() as wire:
        answer = await wire.post(PATH, autoscaler())
        assert "behavior" not in child(answer.body, "spec")


POLICY: JsonObject = {"type": "Pods", "value": 1, "periodSeconds": 1}
UP = "behavior.scaleUp"


def up(**rules: object) -> JsonObject:
    return {"behavior": {"scaleUp": rules}}


def policy(**changed: object) -> JsonObject:
    return up(policies=[POLICY | changed])


def metric(**target: object) -> JsonObject:
    """Return the whole spec with one metric of this target."""
    return {"metrics": [resource(**target)]}


AIM: JsonObject = {"type": "Utilization", "averageUtilization": 50}
NAMELESS: JsonObject = {"type": "Resource", "resource": {"target": AIM}}
NOWHERE: JsonObject = {"type": "ContainerResource", "containerResource": {"name": "cpu", "target": AIM}}
CPU = resource(**AIM)
TARGET, SHARE, AMOUNT = (f"metrics[0].resource.target{field}" for field in ("", ".averageUtilization", ".averageValue"))
REFUSED: list[tuple[str, JsonObject, list[str]]] = [
    ("no room", {"maxReplicas": 0}, ["maxReplicas"]),
    ("fewer than one", {"minReplicas": 0}, ["minReplicas"]),
    ("bounds exchanged", {"minReplicas": 6}, ["maxReplicas"]),
    ("bounds equal", {"minReplicas": 5}, []),
    ("no target", {"scaleTargetRef": {"apiVersion": "apps/v1"}}, ["scaleTargetRef.kind", "scaleTargetRef.name"]),
    ("unknown metric", {"metrics": [{"type": "Moon"}]}, ["metrics[0].type"]),
    ("no source", {"metrics": [CPU, {"type": "Resource"}]}, ["metrics[1].resource"]),
    ("no name", {"metrics": [NAMELESS]}, ["metrics[0].resource.name"]),
    ("no container", {"metrics": [NOWHERE]}, ["metrics[0].containerResource.container"]),
    ("no share", metric(type="Utilization"), [SHARE]),
    ("no amount", metric(type="AverageValue"), [AMOUNT]),
    ("both", metric(type="AverageValue", averageValue="1", averageUtilization=5), [TARGET]),
    ("whole value", metric(type="Value", value="1"), [f"{TARGET}.type"]),
    ("share of nothing", metric(type="Utilization", averageUtilization=0), [SHARE]),
    ("amount of nothing", metric(type="AverageValue", averageValue="0"), [AMOUNT]),
    ("no amount at all", metric(type="AverageValue", averageValue="much"), [AMOUNT]),
    ("queue", {"metrics": [{"type": "External", "external": {"metric": {"name": "q"}}}]}, []),
    ("longest window", up(stabilizationWindowSeconds=3600), []),
    ("window too long", up(stabilizationWindowSeconds=3601), [f"{UP}.stabilizationWindowSeconds"]),
    ("unknown selection", up(selectPolicy="Best"), [f"{UP}.selectPolicy"]),
    ("no tolerance", up(tolerance="0"), []),
    ("negative tolerance", up(tolerance="-1"), [f"{UP}.tolerance"]),
    ("no policies", up(policies=[]), [f"{UP}.policies"]),
    ("unknown policy", policy(type="Some"), [f"{UP}.policies[0].type"]),
    ("policy of nothing", policy(value=0), [f"{UP}.policies[0].value"]),
    ("no period", policy(periodSeconds=0), [f"{UP}.policies[0].periodSeconds"]),
    ("longest period", policy(periodSeconds=1800), []),
    ("period too long", policy(periodSeconds=1801), [f"{UP}.policies[0].periodSeconds"]),
]  # fmt: skip


@pytest.mark.parametrize(("row", "spec", "expected"), REFUSED, ids=[row[0] for row in REFUSED])
async def test_what_is_refused(row: str, spec: JsonObject, expected: list[str]) -> None:
    async with cluster() as wire:
        assert await faults(wire, autoscaler(**spec)) == expected, row


async def test_a_change_is_checked_and_a_status_is_not() -> None:
    async with cluster() as wire:
        made = (await wire.post(PATH, autoscaler())).body
        ensure(made, "spec")["maxReplicas"] = -1
        assert (await wire.call("PUT", f"{PATH}/web", made)).code == 422
        made["status"] = {"currentReplicas": 1, "desiredReplicas": 1}
        assert (await wire.call("PUT", f"{PATH}/web/status", made)).code == 200
        assert child((await wire.get(f"{PATH}/web")).body, "spec")["maxReplicas"] == 5
