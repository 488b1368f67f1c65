"""What is read of a submitted VPA, and what keeps it from being read."""

from __future__ import annotations

import pytest

from admission.json_node import UnreadableFieldError
from admission.submitted_vpa import SubmittedBoost, SubmittedCpuBoost, SubmittedVpa, submitted_vpa
from autoscaling.quantity import Quantity
from tests.builders import printed


def test_every_field_arrives() -> None:
    vpa = submitted_vpa(
        {
            "spec": {
                "updatePolicy": {
                    "updateMode": "Auto",
                    "minReplicas": 3,
                    "evictAfterOOMSeconds": 7,
                    "inPlaceDeferredTimeoutSeconds": 8,
                },
                "resourcePolicy": {
                    "containerPolicies": [
                        {
                            "containerName": "c",
                            "mode": "Off",
                            "minAllowed": {"cpu": "100.5m", "memory": 1000},
                            "maxAllowed": {"cpu": 0.5},
                            "controlledValues": "RequestsOnly",
                            "controlledResources": ["cpu", None],
                            "oomBumpUpRatio": "1.5",
                            "oomMinBumpUp": "1Mi",
                            "memoryAggregationIntervalSeconds": 60,
                            "memoryAggregationIntervalCount": 2**40,
                            "startupBoost": {"cpu": {"type": "Quantity", "quantity": "1", "durationSeconds": 5}},
                        },
                        None,
                    ],
                },
                "startupBoost": {},
                "recommenders": [{"name": "a"}, None],
                "recommender": {"strategy": "vpa-min0"},
            },
        },
    )
    assert vpa.update_policy is not None
    assert (vpa.update_policy.mode, vpa.update_policy.min_replicas) == ("Auto", 3)
    assert vpa.update_policy.evict_after_oom_seconds == 7
    assert (vpa.update_policy.deferred_timeout_seconds, vpa.update_policy.progress_timeout_seconds) == (8, None)
    first, second = vpa.policies
    assert (first.container_name, first.mode, first.controlled_values) == ("c", "Off", "RequestsOnly")
    assert printed(first.min_allowed) == {"cpu": "100500u", "memory": "1k"}
    assert printed(first.max_allowed) == {"cpu": "500m"}
    assert first.controlled_resources == ("cpu", "")
    assert (first.oom_bump_up_ratio, first.oom_min_bump_up) == (Quantity.parse("1.5"), Quantity.parse("1Mi"))
    assert first.memory_aggregation_interval_seconds == 60
    assert first.memory_aggregation_interval_count == 2**40
    assert first.startup_boost == SubmittedBoost(SubmittedCpuBoost("Quantity", None, Quantity.parse("1")))
    assert second.container_name == ""
    assert vpa.startup_boost == SubmittedBoost()
    assert vpa.recommender_count == 2
    assert vpa.strategy == "vpa-min0"


@pytest.mark.parametrize(
    ("row", "group", "strategy"),
    [("beyond:B-10", "autoscaling.evenkeel.dev", "peak"), ("beyond:B-10 upstream", "autoscaling.k8s.io", None)],
)
def test_only_the_own_group_names_strategies(row: str, group: str, strategy: str | None) -> None:
    tree = {"apiVersion": f"{group}/v1", "spec": {"recommender": {"strategy": "peak"}}}
    assert submitted_vpa(tree).strategy == strategy, row


@pytest.mark.parametrize(
    ("row", "group", "given", "seconds"),
    [
        ("beyond:B-20", "autoscaling.evenkeel.dev", 9, 9),
        ("beyond:B-20 upstream", "autoscaling.k8s.io", 9, None),
        ("beyond:B-20 upstream", "autoscaling.k8s.io", "soon", None),
    ],
)
def test_only_the_own_group_has_times_to_wait(row: str, group: str, given: object, seconds: int | None) -> None:
    policy = {"inPlaceDeferredTimeoutSeconds": given, "inPlaceProgressTimeoutSeconds": given}
    read = submitted_vpa({"apiVersion": f"{group}/v1", "spec": {"updatePolicy": policy}}).update_policy
    assert read is not None
    assert (read.deferred_timeout_seconds, read.progress_timeout_seconds) == (seconds, seconds), row


@pytest.mark.parametrize("tree", [None, {}, {"spec": None}])
def test_nothing_is_an_object_without_anything(tree: object) -> None:
    assert submitted_vpa(tree) == SubmittedVpa()


def test_a_field_that_is_null_is_not_there() -> None:
    tree = {"spec": {"updatePolicy": None, "resourcePolicy": None}}
    assert submitted_vpa(tree) == SubmittedVpa(has_spec=True)


WRONG: list[tuple[object, str]] = [
    ([], "the object is a list where an object belongs"),
    ({"spec": "x"}, "spec is a string where an object belongs"),
    ({"spec": {"updatePolicy": {"minReplicas": "3"}}}, "spec.updatePolicy.minReplicas is a string"),
    ({"spec": {"updatePolicy": {"minReplicas": 1.5}}}, "spec.updatePolicy.minReplicas is a number where a whole"),
    ({"spec": {"updatePolicy": {"minReplicas": True}}}, "spec.updatePolicy.minReplicas is a truth value"),
    ({"spec": {"updatePolicy": {"minReplicas": 2**31}}}, "spec.updatePolicy.minReplicas is 2147483648, which does not"),
    ({"spec": {"updatePolicy": {"updateMode": 1}}}, "spec.updatePolicy.updateMode is a number where a string"),
    ({"spec": {"recommender": {"strategy": 1}}}, "spec.recommender.strategy is a number where a string belongs"),
    ({"spec": {"recommenders": {}}}, "spec.recommenders is an object where a list belongs"),
    ({"spec": {"recommenders": ["a"]}}, r"spec.recommenders\[0\] is a string where an object"),
    (
        {"spec": {"resourcePolicy": {"containerPolicies": [{"minAllowed": {"cpu": "1 core"}}]}}},
        r"spec.resourcePolicy.containerPolicies\[0\].minAllowed\[cpu\] is no quantity",
    ),
    (
        {"spec": {"resourcePolicy": {"containerPolicies": [{"minAllowed": {"cpu": []}}]}}},
        r"minAllowed\[cpu\] is a list where a quantity belongs",
    ),
    (
        {"spec": {"resourcePolicy": {"containerPolicies": [{"controlledResources": [1]}]}}},
        r"controlledResources\[0\] is a number, not a string",
    ),
    ({"spec": {"targetRef": 5}}, "spec.targetRef is a number where an object belongs"),
    ({"spec": {"targetRef": {"kind": 5}}}, "spec.targetRef.kind is a number where a string belongs"),
    (
        {"spec": {"updatePolicy": {"evictionRequirements": [{"resources": "cpu"}]}}},
        r"spec.updatePolicy.evictionRequirements\[0\].resources is a string where a list belongs",
    ),
    (
        {"spec": {"updatePolicy": {"evictionRequirements": [{"changeRequirement": []}]}}},
        r"evictionRequirements\[0\].changeRequirement is a list where a string belongs",
    ),
    ({"spec": {"recommenders": [{"name": 1}]}}, r"spec.recommenders\[0\].name is a number where a string belongs"),
    ({"spec": {"startupBoost": {"cpu": {"durationSeconds": "5s"}}}}, "spec.startupBoost.cpu.durationSeconds is a str"),
]


@pytest.mark.parametrize(("tree", "message"), WRONG)
def test_a_wrong_type_is_named_with_its_path(tree: object, message: str) -> None:
    with pytest.raises(UnreadableFieldError, match=message):
        submitted_vpa(tree)
