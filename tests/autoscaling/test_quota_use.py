"""What a pod is charged in quotas, and what goes beyond one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.placement import Placement
from autoscaling.pod import RESIZE_PENDING, ConditionStatus, ContainerStatus, Pod, PodCondition
from autoscaling.quantity import NANO, Quantity
from autoscaling.quota import Quota, ScopeRequirement
from autoscaling.quota_use import charge, counts, growth, left_open, shortage, would_exceed
from autoscaling.resources import ContainerResources, ResourceList
from autoscaling.wire.pods import decode_placed_pod, decode_placed_pod_with_sidecars
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.api.quota_usage import usage_of
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.clock import EPOCH
from tests.builders import amounts, container, pod, with_init_containers

MILLI = NANO // 1000


def quantities(**listed: str) -> ResourceList:
    """Read quantities by name; two underscores stand for a dot."""
    return {name.replace("__", "."): Quantity.parse(text) for name, text in listed.items()}


def quota(hard: ResourceList, used: ResourceList, *scopes: ScopeRequirement) -> Quota:
    return Quota("default", "q", hard, used, scopes)


def test_a_pod_is_charged_under_every_name_of_its_resources() -> None:
    other = {"example.com/gpu": Quantity.parse("1"), "ephemeral-storage": Quantity.parse("2")}
    resources = ContainerResources({**amounts("300m/-"), **other}, {**amounts("-/1"), **other})
    assert charge(pod(replace(container("c"), resources=resources))) == {
        "pods": NANO,
        "count/pods": NANO,
        "requests.cpu": 300 * MILLI,
        "cpu": 300 * MILLI,
        "requests.example.com/gpu": NANO,
        "requests.ephemeral-storage": 2 * NANO,
        "ephemeral-storage": 2 * NANO,
        "limits.memory": NANO,
        "limits.ephemeral-storage": 2 * NANO,
    }


def test_what_the_node_calls_infeasible_is_charged_only_on_demand() -> None:
    has = ContainerStatus("c", resources=ContainerResources(amounts("200m")))
    made = replace(
        pod(container("c", "300m")),
        statuses=(has,),
        conditions=(PodCondition(RESIZE_PENDING, ConditionStatus.TRUE, "Infeasible"),),
    )
    assert charge(made)["requests.cpu"] == 200 * MILLI, "resize:1.6"
    assert charge(made, is_carried_out=True)["requests.cpu"] == 300 * MILLI, "resize:R43"


def resources_json() -> st.SearchStrategy[JsonObject]:
    listed = st.fixed_dictionaries(
        {}, optional={"cpu": st.sampled_from(["0", "150m", "2"]), "memory": st.sampled_from(["1Mi", "1Gi"])}
    )
    return st.fixed_dictionaries({}, optional={"requests": listed, "limits": listed})


@st.composite
def pods_json(draw: st.DrawFn) -> JsonObject:
    """Draw a pod as the API server keeps it, sidecars and a status included."""

    def containers(names: tuple[str, ...]) -> list[JsonObject]:
        return [{"name": name, "resources": draw(resources_json())} for name in names]

    def statuses(listed: list[JsonObject]) -> list[JsonObject]:
        seen: list[JsonObject] = []
        for each in listed:
            status: JsonObject = {"name": each["name"]}
            if draw(st.booleans()):
                status["resources"] = draw(resources_json())
            if draw(st.booleans()):
                status["allocatedResources"] = {"cpu": draw(st.sampled_from(["100m", "3"]))}
            seen.append(status)
        return seen

    regular, inits = containers(("a", "b")), containers(("x", "y", "z"))
    for each in inits:
        if draw(st.booleans()):
            each["restartPolicy"] = "Always"
    reason = draw(st.sampled_from(["", "Deferred", "Infeasible"]))
    conditions = [{"type": RESIZE_PENDING, "status": "True", "reason": reason}] if reason else []
    status: JsonObject = {"phase": "Running", "conditions": conditions, "containerStatuses": statuses(regular)}
    status["initContainerStatuses"] = statuses(inits)
    spec: JsonObject = {"containers": regular, "initContainers": inits}
    if draw(st.booleans()):
        spec["overhead"] = {"cpu": "5m", "memory": "1Ki"}
    return {"metadata": {"name": "p", "namespace": "default"}, "spec": spec, "status": status}


PODS = ApiServer().registry.at("", "v1", "pods")


@given(pods_json())
def test_the_charge_is_that_of_the_api_server(body: JsonObject) -> None:
    assert PODS is not None
    expected = {name: quantity.nano for name, quantity in usage_of(PODS, body, EPOCH).items()}
    raw = json.dumps(body).encode()
    for decode in (decode_placed_pod, decode_placed_pod_with_sidecars):
        assert charge(decode(raw)) == expected, "resize:1.6"


ROOM = quota(quantities(requests__cpu="1", limits__memory="1Gi"), quantities(requests__cpu="900m", limits__memory="0"))


@pytest.mark.parametrize(
    ("row", "before", "after", "committed", "missing"),
    [
        ("case:4", 100, 200, 0, {}),
        ("resize:R42", 100, 201, 0, {"requests.cpu": MILLI}),
        ("case:4 another change of the round", 100, 150, 50, {}),
        ("case:4 another change of the round", 100, 151, 50, {"requests.cpu": MILLI}),
        ("case:4 a new pod", 0, 300, 0, {"requests.cpu": 200 * MILLI}),
        ("resize:1.6 what shrinks needs no room", 500, 400, 900, {}),
        ("resize:1.6 what stays needs no room", 500, 500, 900, {}),
    ],
)
def test_what_is_missing(row: str, before: int, after: int, committed: int, missing: Mapping[str, int]) -> None:
    names = [{"requests.cpu": millis * MILLI, "cpu": 10**20} for millis in (before, after, committed)]
    assert would_exceed(ROOM, *names) == missing, row


def test_nothing_is_added_to_what_is_not_known() -> None:
    unknown = quota(quantities(requests__cpu="1"), {})
    assert would_exceed(unknown, {}, {"requests.cpu": MILLI}, {}) == {"requests.cpu": MILLI}
    assert would_exceed(unknown, {"requests.cpu": MILLI}, {"requests.cpu": MILLI}, {}) == {}


def test_growth_goes_by_the_names_of_the_quota() -> None:
    before, after = {"requests.cpu": 2, "cpu": 2, "limits.memory": 5}, {"requests.cpu": 3, "cpu": 3, "limits.memory": 4}
    assert growth(ROOM, before, after) == {"requests.cpu": 1}


def scoped(scope: str, operator: str = "Exists", *values: str) -> Quota:
    return quota({}, {}, ScopeRequirement(scope, operator, values))


EFFORTLESS, BURSTABLE = pod(container("c")), pod(container("c", "1"))
URGENT = replace(BURSTABLE, placement=Placement(priority_class="high", has_deadline=True))


@pytest.mark.parametrize(
    ("row", "subject", "made", "expected"),
    [
        ("resize:1.6 no scope", quota({}, {}), BURSTABLE, True),
        ("resize:1.6 scopes", scoped("Terminating"), URGENT, True),
        ("resize:1.6 scopes", scoped("Terminating"), BURSTABLE, False),
        ("resize:1.6 scopes", scoped("NotTerminating"), URGENT, False),
        ("resize:1.6 scopes", scoped("NotTerminating"), BURSTABLE, True),
        ("resize:1.6 scopes", scoped("BestEffort"), EFFORTLESS, True),
        ("resize:1.6 scopes", scoped("BestEffort"), BURSTABLE, False),
        ("resize:1.6 scopes", scoped("NotBestEffort"), EFFORTLESS, False),
        ("resize:1.6 scopes", scoped("NotBestEffort"), BURSTABLE, True),
        ("resize:1.6 scopes", scoped("PriorityClass", "In", "high"), URGENT, True),
        ("resize:1.6 scopes", scoped("PriorityClass", "In", "low"), URGENT, False),
        ("resize:1.6 scopes", scoped("PriorityClass", "NotIn", "high"), URGENT, False),
        ("resize:1.6 scopes", scoped("PriorityClass", "NotIn", "high"), BURSTABLE, True),
        ("resize:1.6 scopes", scoped("PriorityClass"), URGENT, True),
        ("resize:1.6 scopes", scoped("PriorityClass"), BURSTABLE, False),
        ("resize:1.6 scopes", scoped("PriorityClass", "DoesNotExist"), BURSTABLE, True),
        ("resize:1.6 scopes", scoped("PriorityClass", "DoesNotExist"), URGENT, False),
        ("resize:1.6 scopes", scoped("CrossNamespacePodAffinity"), BURSTABLE, False),
        (
            "resize:1.6 all of them",
            quota({}, {}, ScopeRequirement("NotBestEffort"), ScopeRequirement("Terminating")),
            BURSTABLE,
            False,
        ),
    ],
)
def test_scopes(row: str, subject: Quota, made: Pod, expected: bool) -> None:
    assert counts(subject, made) is expected, row


def test_what_a_quota_makes_every_container_set() -> None:
    limited = quota(quantities(limits__cpu="1", cpu="1", pods="9"), {})
    made = with_init_containers(pod(container("c", "1", "1"), container("d", "1")), container("setup"))
    assert left_open(limited, made) == ("cpu of setup", "limits.cpu of d", "limits.cpu of setup"), "resize:1.6"
    assert left_open(limited, pod(container("c", "1", "1"))) == ()
    assert left_open(limited, replace(made, placement=Placement(has_pod_resources=True))) == ()


def test_what_is_missing_is_said_in_words() -> None:
    assert shortage(ROOM, {"requests.cpu": 20 * MILLI, "limits.memory": 5 * NANO}) == (
        "ResourceQuota default/q is short of 5 limits.memory, 20m requests.cpu"
    )
